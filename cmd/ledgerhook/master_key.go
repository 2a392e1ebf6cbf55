package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const masterKeyPath = "/internal/v1/master-key/rotate"

// rotateFor is how long master-key rotate goes on without getting further.
const rotateFor = 3 * time.Minute

// rotationStep is how far a change of the master key has come.
type rotationStep struct {
	Key          string   `json:"keyName"`
	Previous     string   `json:"previousKeyName"`
	KeyFrom      string   `json:"keyFrom"`
	PreviousFrom string   `json:"previousKeyFrom"`
	Resealed     int      `json:"resealed"`
	Unreadable   []string `json:"unreadable"`
	WaitingFor   []string `json:"waitingFor"`
	Done         bool     `json:"done"`
}

func (c *cli) masterKey() *cobra.Command {
	return group("master-key", "Change the key that encrypts secrets at rest", c.masterKeyRotate())
}

func (c *cli) masterKeyRotate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Encrypt everything at rest again, under the new master key",
		Long: `Encrypts again, under LEDGERHOOK_MASTER_KEY, what LEDGERHOOK_PREVIOUS_MASTER_KEY
has encrypted, while the servers go on. Every server must know both keys: set them,
restart one server after the other, then rotate. What was interrupted is finished
by the same command again.

A server whose key is the file master-key in its data directory needs no setting
and no restart: it makes the new key itself, and keeps the present one beside it,
as previous-master-key.

Once it says so the previous key opens nothing any more and can be taken away.
Keep it with the backups that were made until then: they need it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			last, err := c.rotateMasterKey(cmd.Context())
			if err != nil {
				return err
			}
			if c.json {
				raw, err := json.Marshal(last)
				if err != nil {
					return err
				}
				return c.raw(raw)
			}
			t := c.table()
			t.field("key", last.Key+" from "+last.KeyFrom)
			t.field("previous key", last.Previous+" from "+last.PreviousFrom)
			t.field("encrypted again", strconv.Itoa(last.Resealed))
			return t.flush()
		},
	}
	c.jsonFlag(cmd)
	return cmd
}

// rotateMasterKey asks until nothing needs the previous key any more, and returns
// the last step with the counts of all.
func (c *cli) rotateMasterKey(ctx context.Context) (last rotationStep, err error) {
	said, resealed := "", 0
	for further := time.Now(); ; {
		last, _, err = fetch[rotationStep](ctx, c, http.MethodPost, masterKeyPath, nil)
		if err != nil {
			return last, err
		}
		resealed += last.Resealed
		if last.Resealed > 0 {
			further = time.Now()
		}
		if last.Done {
			c.rotated(last)
			last.Resealed = resealed
			return last, nil
		}
		if time.Since(further) > rotateFor {
			return last, &exitError{exitTimedOut, errors.New("the change of the master key has not ended yet: run the same command again")}
		}
		if line := last.progress(resealed); line != said {
			c.say("%s", line)
			said = line
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return last, ctx.Err()
		}
	}
}

// progress says in a line what a step that is not the last one has come to.
func (s rotationStep) progress(resealed int) string {
	if len(s.WaitingFor) > 0 {
		return "waiting until these encrypt with " + s.Key + ": " + strings.Join(s.WaitingFor, ", ")
	}
	line := "encrypted again with " + s.Key + ": " + strconv.Itoa(resealed)
	if s.Resealed == 0 {
		line += "; waiting for what was being written meanwhile"
	}
	return line
}

// rotated says what is left to do.
func (c *cli) rotated(last rotationStep) {
	if len(last.Unreadable) > 0 {
		c.say("neither key opens what these hold encrypted: %s", strings.Join(last.Unreadable, ", "))
	}
	if last.KeyFrom != "LEDGERHOOK_MASTER_KEY" {
		c.say("%s is the master key now: keep a copy of it", last.KeyFrom)
	}
	c.say("nothing is encrypted with %s any more: %s may be taken away; backups made until now need it", last.Previous, last.PreviousFrom)
}
