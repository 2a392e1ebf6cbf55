package main

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"ledgerhook/webhook"
)

type attemptItem struct {
	Number          int                 `json:"number"`
	Trigger         string              `json:"trigger"`
	StartedAt       time.Time           `json:"startedAt"`
	DurationMS      float64             `json:"durationMs"`
	PeerIP          string              `json:"peerIp"`
	Outcome         string              `json:"outcome"`
	StatusCode      int                 `json:"statusCode"`
	ErrorClass      string              `json:"errorClass"`
	ErrorDetail     string              `json:"errorDetail"`
	ResponseHeaders map[string][]string `json:"responseHeaders"`
	ResponseBody    string              `json:"responseBody"`
	ResponseBase64  string              `json:"responseBodyBase64"`
	Truncated       bool                `json:"truncated"`
	HeadersCut      bool                `json:"headersTruncated"`
	NextAttemptAt   time.Time           `json:"nextAttemptAt"`
	NextReason      string              `json:"nextAttemptReason"`
}

// result is what came of the attempt in a word or two, in its colour.
func (a attemptItem) result() cell {
	k := green
	if a.ErrorClass != "" || a.StatusCode >= 300 {
		k = red
	}
	switch {
	case a.StatusCode == 0 && a.ErrorClass == "":
		if a.Outcome == string(webhook.OutcomeUnknown) {
			return cell{"unknown", yellow}
		}
		return cell{"", grey}
	case a.StatusCode == 0:
		return cell{a.ErrorClass, k}
	case a.ErrorClass == "" || strings.HasPrefix(a.ErrorClass, "http_"):
		return cell{strconv.Itoa(a.StatusCode), k}
	}
	return cell{fmt.Sprintf("%d %s", a.StatusCode, a.ErrorClass), k}
}

// showAttempts prints a row for each attempt and what the newest one was told.
func (c *cli) showAttempts(attempts []attemptItem, ended bool) error {
	t := c.table("TRY", "STARTED", "TRIGGER", "ANSWER", "MS", "PEER", "THEN")
	for _, a := range attempts {
		then := a.NextReason
		if !a.NextAttemptAt.IsZero() {
			then = strings.TrimPrefix(then+", ", ", ") + "again at " + clock(a.NextAttemptAt)
		}
		t.row(strconv.Itoa(a.Number), clock(a.StartedAt), a.Trigger, a.result(),
			fmt.Sprintf("%.0f", a.DurationMS), a.PeerIP, then)
	}
	if err := t.flush(); err != nil {
		return err
	}
	return c.showAnswer(attempts[len(attempts)-1], ended)
}

// showAnswer prints the answer of the newest attempt, so that nobody has to
// ask a partner what its server said.
func (c *cli) showAnswer(a attemptItem, ended bool) error {
	if ended && a.Outcome == string(webhook.OutcomeDelivered) && a.ResponseBody == "" && a.ResponseBase64 == "" {
		return nil
	}
	fmt.Fprintln(c.out)
	t := c.table()
	t.field("error", a.ErrorDetail)
	for _, name := range slices.Sorted(maps.Keys(a.ResponseHeaders)) {
		t.field(name, strings.Join(a.ResponseHeaders[name], ", "))
	}
	if err := t.flush(); err != nil {
		return err
	}
	if a.HeadersCut {
		c.say("there were more headers; the first 8 KiB are kept")
	}
	body := a.ResponseBody
	if raw, err := base64.StdEncoding.DecodeString(a.ResponseBase64); err == nil && body == "" {
		body = string(raw)
	}
	if body == "" {
		return nil
	}
	fmt.Fprintln(c.out)
	for line := range strings.Lines(body) {
		fmt.Fprintln(c.out, plain(strings.TrimRight(line, "\r\n")))
	}
	if a.Truncated {
		c.say("the answer was longer; only this part was kept")
	}
	return nil
}
