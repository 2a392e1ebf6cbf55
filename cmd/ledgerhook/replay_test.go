package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// replayDoc is a replay of ten; open to failed add up to that.
func replayDoc(state string, open, skipped, waiting, delivered, failing, failed int, more ...string) string {
	failures := ""
	if failing+failed > 0 {
		failures = fmt.Sprintf(`{"errorClass":"http_5xx","failing":%d,"failed":%d}`, failing, failed)
	}
	sent := delivered + failing + failed
	return fmt.Sprintf(`200 {"replayId":"rpl_1","state":"%s","reason":"their outage","ratePerSecond":50,"total":10,%s"progress":{"open":%d,"skipped":%d,"waiting":%d,"delivered":%d,"failing":%d,"failed":%d,`+
		`"queued":%d,"sent":%d,"answered2xx":%d,"failures":[%s]}}`, state, strings.Join(more, ""), open, skipped, waiting, delivered, failing, failed, waiting+sent, sent, delivered, failures)
}

func TestAPreviewTellsWhatAReplayWouldSend(t *testing.T) {
	const doc = `{"count":12,"countIs":"exact","max":100000,"grouped":12,"breakdown":[{"partnerCode":"acme","endpointId":"ep_1","webhookType":"TopupCard","state":"exhausted","errorClass":"http_5xx","count":11},
		{"partnerCode":"acme","endpointId":"ep_1","webhookType":"CreateCard","state":"cancelled","errorClass":null,"count":1}],
		"warnings":{"checked":12,"alreadyDelivered":2,"stillRetrying":1,"urlChanged":12,"secretRotated":0,"endpointRemoved":0},
		"sample":[{"deliveryId":"dlv_9","reference":"tp_9\u001b[2J","state":"exhausted","attemptCount":14,"lastStatusCode":503,"lastErrorClass":"http_5xx","createdAt":"2026-01-02T03:04:05Z"}]}`
	s := newServer(t, map[string][]string{"POST /internal/v1/replays": {"200 " + doc}})
	filters := strings.Fields("--partner acme --endpoint ep_1 --state exhausted --type TopupCard --code 503 --error http_5xx --reference tp_9 --replay rpl_9 --since 2026-01-02T10:00:00+07:00 --until 2026-01-03T00:00:00Z")
	got := run(t, s.env(), "", append([]string{"replay", "preview"}, filters...)...)
	got.has(t, exitOK, "12 match")
	golden(t, "replay-preview", "stdout:\n"+got.out+"stderr:\n"+got.errors)
	want := `{"filter":{"partnerCode":"acme","endpointId":"ep_1","state":"exhausted","webhookType":"TopupCard","statusCode":503,"errorClass":"http_5xx","reference":"tp_9","replayId":"rpl_9",` +
		`"since":"2026-01-02T03:00:00Z","until":"2026-01-03T00:00:00Z"},"dryRun":true}`
	if asked := s.last(t); asked.body != want {
		t.Errorf("asked %s", cmp.Diff(want, asked.body))
	}
	if raw := run(t, s.env(), "", "replay", "preview", "--partner", "acme", "--json"); raw.out != doc+"\n" {
		t.Errorf("--json is %s", raw.out)
	}
	s = newServer(t, map[string][]string{"POST /internal/v1/replays": {`200 {"count":0,"max":100000,"settled":1961,"settledIs":"exact","breakdown":[],"sample":[]}`, `200 {"count":100001,"countIs":"atLeast","max":100000,"breakdown":[],"sample":[]}`,
		`200 {"count":48200,"countIs":"about","max":100000,"grouped":10000,"breakdown":[],"sample":[]}`, `200 {"count":10000,"countIs":"atLeast","max":100000,"grouped":10000,"breakdown":[],"sample":[]}`}})
	run(t, s.env(), "", "replay", "preview", "--partner", "acme").has(t, exitOK, "no finished delivery matches\n1961 more failed, but another delivery has brought their event: they are left out unless --include-settled is given")
	run(t, s.env(), "", "replay", "preview", "--partner", "acme").has(t, exitOK, "narrow the filters")
	run(t, s.env(), "", "replay", "preview", "--partner", "acme").has(t, exitOK, "the table counts the newest 10000\nabout 48200 match")
	run(t, s.env(), "", "replay", "preview", "--partner", "acme").has(t, exitOK, "at least 10000 match")
}

func TestAReplayIsStartedForAReason(t *testing.T) {
	s := newServer(t, map[string][]string{
		"POST /internal/v1/replays":      {`201 {"replayId":"rpl_1","state":"running","ratePerSecond":5,"total":10}`},
		"GET /internal/v1/replays/rpl_1": {replayDoc("finished", 0, 0, 0, 10, 0, 0)},
	})
	got := run(t, s.env(), "", "replay", "start", "--state", "exhausted", "--reason", "their outage", "--rate", "5")
	got.has(t, exitOK, "ledgerhook replay watch rpl_1")
	if got.out != "replay      rpl_1\ndeliveries  10\na second    5\n" {
		t.Errorf("printed\n%s", got.out)
	}
	if asked := s.last(t); asked.body != `{"filter":{"state":"exhausted"},"ratePerSecond":5,"reason":"their outage"}` {
		t.Errorf("asked %s", asked.body)
	}
	if got = run(t, s.env(), "", "replay", "start", "--state", "exhausted", "--reason", "x", "--watch"); !strings.HasSuffix(got.out, "finished  10 of 10 queued, 10 sent, 10 answered 2xx\n") {
		t.Errorf("printed\n%s", got.out)
	}
	got.has(t, exitOK, "")
	run(t, s.env(), "", "replay", "start", "--state", "exhausted", "--include-settled", "--reason", "x")
	if asked := s.last(t); asked.body != `{"filter":{"state":"exhausted"},"reason":"x","includeSettled":true}` {
		t.Errorf("asked %s", asked.body)
	}
	s = newServer(t, map[string][]string{"POST /internal/v1/replays": problemAnswer(400, "/filter must match at least one finished delivery")})
	run(t, s.env(), "", "replay", "start", "--partner", "acme", "--reason", "x").has(t, exitFailed, "/filter must match at least one")
	for _, args := range []string{"replay start --partner acme", "replay start --reason x", "replay preview", "replay start --partner acme --reason x --since tomorrow",
		"replay start --partner acme --reason x --until never", "replay start --partner acme --reason x --json --watch", "replay watch", "replay watch rpl_1 --timeout 0s",
		"replay watch rpl_1 --timeout soon", "replay pause", "replay", "replay again", "replay preview --code x"} {
		run(t, s.env(), "", strings.Fields(args)...).has(t, exitUsage, "ledgerhook: ")
	}
	run(t, s.env(), "", "replay", "start", "--partner", "acme", "--reason", "x", "--until", "never").has(t, exitUsage, "--until must be like")
}

func TestAReplayIsWatchedToItsEnd(t *testing.T) {
	t.Parallel()
	running := replayDoc("running", 8, 0, 2, 0, 0, 0)
	for _, test := range []struct {
		name    string
		answers []string
		code    int
		out     string
		says    string
	}{
		{"all delivered or skipped", []string{running, running, replayDoc("running", 0, 1, 3, 5, 1, 0), replayDoc("finished", 0, 1, 0, 8, 1, 0), replayDoc("finished", 0, 1, 0, 9, 0, 0)}, exitOK,
			"running  2 of 10 queued, 0 sent, 0 answered 2xx, 2 on their way\nrunning  9 of 10 queued, 6 sent, 5 answered 2xx, 3 on their way, 1 to be retried, 1 skipped: 1 http_5xx\n" +
				"finished  9 of 10 queued, 9 sent, 8 answered 2xx, 1 to be retried, 1 skipped: 1 http_5xx\nfinished  9 of 10 queued, 9 sent, 9 answered 2xx, 1 skipped\n", ""},
		{"some failed", []string{replayDoc("finished", 0, 0, 0, 7, 0, 3)}, exitSomeFailed, "finished  10 of 10 queued, 10 sent, 7 answered 2xx, 3 failed: 3 http_5xx\n", "3 of 10 failed again; send those again: ledgerhook replay start --replay rpl_1 --state exhausted"},
		{"stopped by itself", []string{running, replayDoc("stopped", 5, 0, 0, 1, 0, 4, `"note":"4 of the newest 5 deliveries fail",`)}, exitChanged,
			"running  2 of 10 queued, 0 sent, 0 answered 2xx, 2 on their way\nstopped  5 of 10 queued, 5 sent, 1 answered 2xx, 4 failed: 4 http_5xx\n",
			"the replay is stopped: 4 of the newest 5 deliveries fail; go on: ledgerhook replay resume rpl_1"},
		{"paused", []string{replayDoc("paused", 10, 0, 0, 0, 0, 0)}, exitChanged, "paused  0 of 10 queued, 0 sent, 0 answered 2xx\n", "the replay is paused; go on"},
		{"cancelled", []string{replayDoc("cancelled", 10, 0, 0, 0, 0, 0)}, exitChanged, "cancelled  0 of 10 queued, 0 sent, 0 answered 2xx\n", "the replay is cancelled"},
		{"unknown", problemAnswer(404, "there is no replay rpl_1"), exitNotFound, "", "there is no replay rpl_1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t, map[string][]string{"GET /internal/v1/replays/rpl_1": test.answers})
			got := run(t, s.env(), "", "replay", "watch", "rpl_1")
			got.has(t, test.code, test.says)
			if diff := cmp.Diff(test.out, got.out); diff != "" {
				t.Errorf("printed (-want +got):\n%s", diff)
			}
		})
	}
	s := newServer(t, map[string][]string{"GET /internal/v1/replays/rpl_1": {running}})
	run(t, s.env(), "", "replay", "watch", "rpl_1", "--timeout", "300ms").has(t, exitTimedOut, "has not ended within 300ms")
	last := replayDoc("finished", 0, 0, 0, 10, 0, 0)
	s = newServer(t, map[string][]string{"GET /internal/v1/replays/rpl_1": {running, last}})
	if got := run(t, s.env(), "", "replay", "watch", "rpl_1", "--json"); got.out != strings.TrimPrefix(last, "200 ")+"\n" {
		t.Errorf("--json is\n%s", got.out)
	}
}

func TestCtrlCEndsAWatchAndNotTheReplay(t *testing.T) {
	s := newServer(t, map[string][]string{"GET /internal/v1/replays/rpl_1": {replayDoc("running", 8, 0, 2, 0, 0, 0)}})
	cmd := command(t.Context(), t, s.env(), "replay", "watch", "rpl_1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitLine(t, out, "running  2 of 10")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
}

func TestAReplayIsMovedByItsVerbs(t *testing.T) {
	s := newServer(t, map[string][]string{
		"POST /internal/v1/replays/rpl_1/pause":  {`200 {}`},
		"POST /internal/v1/replays/rpl_1/resume": problemAnswer(409, "the replay is running and cannot become running"),
		"POST /internal/v1/replays/rpl_1/cancel": {`200 {}`},
	})
	run(t, s.env(), "", "replay", "pause", "rpl_1").has(t, exitOK, "replay rpl_1 is paused")
	run(t, s.env(), "", "replay", "resume", "rpl_1").has(t, exitChanged, "the replay is running")
	run(t, s.env(), "", "replay", "cancel", "rpl_1").has(t, exitOK, "is cancelled")
	run(t, s.env(), "", "replay", "cancel", "rpl_2").has(t, exitNotFound, "")
}

func TestAnEndpointIsAddedAsTheFlagsSay(t *testing.T) {
	s := newServer(t, map[string][]string{"POST /internal/v1/partners/acme/endpoints": {
		`201 {"endpointId":"ep_1","url":"https://a.example/h","webhookTypes":[],"rateLimit":10,"ordered":true,"ackMode":"body","timeoutSeconds":20,"headers":["Authorization","X-Team"]}`}})
	got := run(t, s.env(), "", "endpoint", "add", "acme", "--url", "https://a.example/h", "--ordered", "--rate-limit", "10", "--ack-mode", "body", "--max-in-flight", "4", "--timeout", "20",
		"--header", "Authorization: Bearer a:b, c", "--header", "X-Team:cards")
	got.has(t, exitOK, "endpoint added")
	if want := `{"url":"https://a.example/h","maxInFlight":4,"rateLimit":10,"ordered":true,"ackMode":"body","timeoutSeconds":20,"headers":{"Authorization":"Bearer a:b, c","X-Team":"cards"}}`; s.last(t).body != want {
		t.Errorf("asked %s", cmp.Diff(want, s.last(t).body))
	}
	if want := "endpoint    ep_1\nurl         https://a.example/h\ntypes       all\nrate limit  10 a second\norder       by subject\nsuccess     by the answer's body\ntime limit  20 s\nheaders     Authorization, X-Team\n"; got.out != want {
		t.Errorf("printed\n%s", got.out)
	}
	for _, headers := range [][]string{{"s3cret"}, {": s3cret"}, {"X-A: s3cret", "X-A: s3cret"}} {
		args := []string{"endpoint", "add", "acme", "--url", "https://a.example/h"}
		for _, h := range headers {
			args = append(args, "--header", h)
		}
		if got := run(t, s.env(), "", args...); got.code != exitUsage || strings.Contains(got.errors, "s3cret") || !strings.Contains(got.errors, "--header must be like") {
			t.Errorf("%v: %d, %s", headers, got.code, got.errors)
		}
	}
}

func TestAWaitingDeliverySaysWhatItsEndpointSuffersFrom(t *testing.T) {
	delivery := strings.Replace(deliveryDoc, `"reason":"retry","until":"2026-01-02T04:00:00Z"`, `"reason":"breaker","until":"2026-01-02T04:00:00Z"`, 1)
	s := newServer(t, map[string][]string{
		"GET /internal/v1/deliveries/dlv_3": {"200 " + delivery},
		"GET /internal/v1/endpoints/ep_1": {`200 {"endpointId":"ep_1","state":"active","breaker":{"state":"open","openUntil":"2026-01-02T04:00:00Z","reason":"5 attempts in a row failed"},
			"advice":["the certificate expires in 9 days","does not answer in time"]}`},
	})
	got := run(t, s.env(), "", "deliveries", "show", "dlv_3")
	got.has(t, exitOK, "")
	for _, want := range []string{"waits for  its endpoint's breaker at 2026-01-02 04:00:00\n", "breaker    open until 2026-01-02 04:00:00: 5 attempts in a row failed\n",
		"advice     the endpoint: the certificate expires in 9 days\n", "advice     the endpoint: does not answer in time\n"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in\n%s", want, got.out)
		}
	}
}
