package ingest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// progress is how far a replay is.
type progress struct{ Open, Skipped, Waiting, Delivered, Failing, Failed int }

func (a *api) progress(t *testing.T, id string) progress {
	t.Helper()
	var got struct {
		Total    int
		Progress progress
	}
	a.want(t, 200, "GET", "/replays/"+id, nil).json(t, &got)
	p := got.Progress
	if sum := p.Open + p.Skipped + p.Waiting + p.Delivered + p.Failing + p.Failed; sum != got.Total {
		t.Errorf("%+v adds up to %d of %d", p, sum, got.Total)
	}
	return p
}

// step plays the runner of replays.
func (a *api) step(t *testing.T) {
	t.Helper()
	if _, _, err := a.StepReplays(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// exhaust makes n deliveries of acme that have ended without success.
func (a *api) exhaust(t *testing.T, n int) (ids []string) {
	t.Helper()
	for i := range n {
		_, made := a.event(t, "acme", fmt.Sprint("tp_", i), "Pending")
		a.record(t, a.claim(t)[0], failed(503, webhook.ErrorHTTP5xx), exhausted)
		ids = append(ids, made...)
	}
	return ids
}

func TestADryRunTellsWhatAReplayWouldBe(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		endpoint := a.endpoint(t, "acme", nil)
		ids := a.exhaust(t, 12)
		var got struct {
			Count, Max int
			Breakdown  []map[string]any
			Sample     []deliveryView
		}
		a.want(t, 200, "POST", "/replays", `{"filter":{"partnerCode":"acme","state":"exhausted"},"dryRun":true}`, `"countIs":"exact","max":100000,"grouped":12,`,
			`"warnings":{"checked":12,"alreadyDelivered":0,"stillRetrying":0,"urlChanged":0,"secretRotated":0,"endpointRemoved":0}`).json(t, &got)
		if got.Count != 12 || got.Max != 100_000 || len(got.Sample) != 10 || got.Sample[0].DeliveryID != ids[11] {
			t.Errorf("%+v", got)
		}
		if b := fmt.Sprint(got.Breakdown); b != "[map[count:12 endpointId:"+endpoint+" errorClass:http_5xx partnerCode:acme state:exhausted webhookType:TopupCard]]" {
			t.Errorf("the breakdown is %s", b)
		}
		a.want(t, 200, "POST", "/replays", `{"filter":{"partnerCode":"nobody"},"dryRun":true}`, `"count":0,`, `"breakdown":[],`, `"sample":[]`)
		a.want(t, 200, "GET", "/replays", nil, `"items":[]`)
		if entries := a.want(t, 200, "GET", "/audit", nil); strings.Contains(string(entries.body), "replay") {
			t.Errorf("a dry run is an act: %s", entries.body)
		}
	})
}

func TestAReplayRunsAndIsPausedResumedAndCancelled(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		endpoint := a.endpoint(t, "acme", map[string]any{"maxInFlight": 1})
		ids := a.exhaust(t, 4)
		made := a.want(t, 201, "POST", "/replays",
			`{"filter":{"partnerCode":"acme","state":"exhausted","statusCode":503,"errorClass":"http_5xx","webhookType":"TopupCard","endpointId":"`+endpoint+`","since":"2020-01-01T00:00:00+07:00"},"ratePerSecond":1000,"reason":"their outage"}`,
			`"state":"running","reason":"their outage"`, `"ratePerSecond":1000,"total":4`, `"finishedAt":null`,
			`"filter":{"partnerCode":"acme","endpointId":"`+endpoint+`","state":"exhausted","webhookType":"TopupCard","statusCode":503,"errorClass":"http_5xx","since":"2019-12-31T17:00:00.000Z"}`)
		id := made.text(t, "replayId")
		path := "/replays/" + id
		if p := a.progress(t, id); p != (progress{Open: 4}) {
			t.Errorf("%+v", p)
		}
		a.step(t)
		if p := a.progress(t, id); p != (progress{Open: 3, Waiting: 1}) {
			t.Errorf("%+v", p)
		}
		job := a.claim(t)[0]
		if d := a.delivery(t, job.Delivery.ID); d.Trigger != "replay" || *d.ReplayOf != ids[0] || d.Sequence != 1 {
			t.Errorf("%+v", d)
		}
		a.record(t, job, delivered200, delivered)

		a.want(t, 200, "POST", path+"/pause", nil, `"state":"paused"`, `"progress":{"open":3,"skipped":0,"waiting":0,"delivered":1,"failing":0,"failed":0,"queued":1,"sent":1,"answered2xx":1,"failures":[]}`)
		a.want(t, 409, "POST", path+"/pause", nil, "paused")
		a.step(t)
		if p := a.progress(t, id); p != (progress{Open: 3, Delivered: 1}) {
			t.Errorf("a paused replay goes on: %+v", p)
		}
		a.want(t, 200, "POST", path+"/resume", nil, `"state":"running"`)
		a.want(t, 409, "POST", path+"/resume", nil, "running")
		a.step(t)
		a.record(t, a.claim(t)[0], failed(503, webhook.ErrorHTTP5xx), exhausted)
		if p := a.progress(t, id); p != (progress{Open: 2, Delivered: 1, Failed: 1}) {
			t.Errorf("%+v", p)
		}
		a.want(t, 200, "GET", path, nil, `"queued":2,"sent":2,"answered2xx":1,"failures":[{"errorClass":"http_5xx","failing":0,"failed":1}]`)
		a.want(t, 200, "POST", "/replays", `{"filter":{"replayId":"`+id+`","state":"exhausted"},"dryRun":true}`, `"count":1,`)
		a.want(t, 201, "POST", "/replays", `{"filter":{"replayId":"`+id+`","state":"exhausted"},"reason":"those that failed"}`, `"total":1`, `"filter":{"state":"exhausted","replayId":"`+id+`"}`)
		got := a.want(t, 200, "POST", path+"/cancel", nil, `"state":"cancelled"`)
		if got.text(t, "finishedAt") == "" {
			t.Errorf("cancelled is %s", got.body)
		}
		for _, verb := range []string{"pause", "resume", "cancel"} {
			a.want(t, 409, "POST", path+"/"+verb, nil, "cancelled")
		}
		a.want(t, 200, "GET", "/replays", nil, `"replayId":"`+id+`","state":"cancelled"`)
		a.partner(t, "globex")
		of := delivery.Replay{ID: webhook.NewID(webhook.ReplayPrefix), State: delivery.ReplayRunning, Reason: "x", Rate: 1, CreatedAt: time.Now(),
			Filter: delivery.Filter{PartnerCodes: []string{"acme", "globex"}, IncludeSettled: true}}
		if _, err := a.StartReplay(t.Context(), partners.Everything(), of); err != nil {
			t.Fatal(err)
		}
		a.want(t, 200, "GET", "/replays/"+of.ID, nil, `"filter":{"partnerCodes":["acme","globex"]}`)
		a.want(t, 400, "POST", "/replays", `{"filter":{"partnerCode":"acme","partnerCodes":["acme"]},"dryRun":true}`, "partnerCodes")
		a.want(t, 200, "GET", "/audit", nil, `"replay.start"`, "their outage", `"replay.pause"`, `"replay.resume"`, `"replay.cancel"`)
		a.CheckWindows(t)
	})
}

func TestAReplayLeavesOutWhatIsSettledUnlessItIsAskedFor(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		a.endpoint(t, "acme", nil)
		ids := a.exhaust(t, 3)
		by := a.want(t, 202, "POST", "/deliveries/"+ids[0]+"/retry", nil).text(t, "deliveryId")
		a.want(t, 200, "GET", "/deliveries/"+ids[0], nil, `"deliveredBy":null`)
		a.record(t, a.claim(t)[0], delivered200, delivered)
		a.want(t, 200, "GET", "/deliveries/"+ids[0], nil, `"state":"exhausted"`, `"deliveredBy":"`+by+`"`)
		a.want(t, 200, "GET", "/deliveries/"+by, nil, `"state":"delivered"`, `"deliveredBy":null`)
		const failed = `{"filter":{"partnerCode":"acme","state":"exhausted"}`
		a.want(t, 200, "POST", "/replays", failed+`,"dryRun":true}`, `"count":2,`, `"settled":1,"settledIs":"exact","includeSettled":false`)
		a.want(t, 200, "POST", "/replays", failed+`,"dryRun":true,"includeSettled":true}`, `"count":3,`, `"settled":1,"settledIs":"exact","includeSettled":true`)
		a.want(t, 201, "POST", "/replays", failed+`,"reason":"x"}`, `"total":2,"includeSettled":false`)
		a.want(t, 201, "POST", "/replays", failed+`,"reason":"x","includeSettled":true}`, `"total":3,"includeSettled":true`)
		a.want(t, 400, "POST", "/replays", `{"filter":{"reference":"tp_0","state":"exhausted"},"reason":"x"}`, "at least one")
		a.want(t, 400, "POST", "/replays", failed+`,"reason":"x","includeSettled":1}`, "/includeSettled")
		a.CheckWindows(t)
	})
}

func TestAReplayThatEndedCannotBeMoved(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		a.endpoint(t, "acme", nil)
		a.exhaust(t, 1)
		path := "/replays/" + a.want(t, 201, "POST", "/replays", `{"filter":{"reference":"tp_0"},"reason":"x"}`, `"ratePerSecond":50`).text(t, "replayId")
		a.step(t)
		a.step(t)
		a.want(t, 200, "GET", path, nil, `"state":"finished"`, `"progress":{"open":0,"skipped":0,"waiting":1,`)
		for _, verb := range []string{"pause", "resume", "cancel"} {
			a.want(t, 409, "POST", path+"/"+verb, nil, "finished")
		}
		if _, err := a.Raw.ExecContext(t.Context(), "UPDATE replays SET state = 'stopped', note = '9 of 20 fail'"); err != nil {
			t.Fatal(err)
		}
		a.want(t, 200, "GET", path, nil, `"state":"stopped"`, `"note":"9 of 20 fail"`)
		a.want(t, 409, "POST", path+"/pause", nil, "stopped")
		a.want(t, 200, "POST", path+"/resume", nil, `"state":"running"`)
	})
}

func TestAReplayIsMadeFromGoodInputOnly(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		a.endpoint(t, "acme", nil)
		a.exhaust(t, 1)
		for members, says := range map[string]string{
			`"reason":"x"`:                                                                                             "/filter",
			`"filter":{},"reason":"x"`:                                                                                 `"/filter","detail":"must narrow`,
			`"filter":null,"reason":"x"`:                                                                               "/filter",
			`"filter":[],"reason":"x"`:                                                                                 "/filter",
			`"filter":{"reference":"tp_0"}`:                                                                            `"/reason","detail":"is required`,
			`"filter":{"reference":"tp_0"},"reason":""`:                                                                "/reason",
			`"filter":{"reference":"tp_0"},"reason":" \u00a0"`:                                                         `"/reason","detail":"is required`,
			`"filter":{"reference":"tp_0"},"reason":null`:                                                              "/reason",
			`"filter":{"reference":"tp_0"},"reason":"a\u0000"`:                                                         "/reason",
			`"filter":{"reference":"tp_0"},"reason":"` + strings.Repeat("x", 201) + `"`:                                "/reason",
			`"filter":{"reference":"tp_0"},"reason":"x","ratePerSecond":0`:                                             `"/ratePerSecond","detail":"must be 1 to 1000`,
			`"filter":{"reference":"tp_0"},"reason":"x","ratePerSecond":1001`:                                          "/ratePerSecond",
			`"filter":{"reference":"tp_0"},"reason":"x","ratePerSecond":-5`:                                            "/ratePerSecond",
			`"filter":{"reference":"tp_0"},"reason":"x","ratePerSecond":1.5`:                                           "/ratePerSecond",
			`"filter":{"reference":"tp_0"},"reason":"x","ratePerSecond":"50"`:                                          "/ratePerSecond",
			`"filter":{"reference":"tp_0"},"reason":"x","dryRun":1`:                                                    "/dryRun",
			`"filter":{"reference":"tp_0"},"reason":"x","state":"running"`:                                             "/state",
			`"filter":{"reference":"tp_0","state":"pending"},"reason":"x"`:                                             `"/filter/state","detail":"must be`,
			`"filter":{"reference":"tp_0","state":"held"},"reason":"x"`:                                                "/filter/state",
			`"filter":{"reference":"tp_0","state":"nothing"},"reason":"x"`:                                             "/filter/state",
			`"filter":{"reference":"tp_0","webhookType":"X"},"reason":"x"`:                                             "/filter/webhookType",
			`"filter":{"reference":"tp_0","errorClass":"http"},"reason":"x"`:                                           "/filter/errorClass",
			`"filter":{"reference":"tp_0","statusCode":99},"reason":"x"`:                                               "/filter/statusCode",
			`"filter":{"reference":"tp_0","statusCode":600},"reason":"x"`:                                              "/filter/statusCode",
			`"filter":{"reference":"tp_0","statusCode":"503"},"reason":"x"`:                                            "/filter/statusCode",
			`"filter":{"reference":"tp_0","statusCode":9223372036854775807},"reason":"x"`:                              "/filter/statusCode",
			`"filter":{"reference":"tp_0","since":"2026-01-02T00:00:00Z","until":"2026-01-01T00:00:00Z"},"reason":"x"`: "must not lie after until",
			`"filter":{"reference":"tp_0","since":"yesterday"},"reason":"x"`:                                           "/filter/since",
			`"filter":{"reference":"tp_0","until":1700000000},"reason":"x"`:                                            "/filter/until",
			`"filter":{"reference":"tp_0","until":"9999-12-31T23:59:59-10:00"},"reason":"x"`:                           "/filter/until",
			`"filter":{"reference":"tp_0","since":"9999-12-31T23:59:59-10:00"},"reason":"x"`:                           "/filter/since",
			`"filter":{"reference":"tp_\u0000"},"reason":"x"`:                                                          "/filter/reference",
			`"filter":{"replayId":"rpl_\u0000"},"reason":"x"`:                                                          "/filter/replayId",
			`"filter":{"replayId":"rpl_none"},"reason":"x"`:                                                            "at least one",
			`"filter":{"partnerCode":"a\u0000"},"reason":"x"`:                                                          "/filter/partnerCode",
			`"filter":{"endpointId":"a\u0000"},"reason":"x"`:                                                           "/filter/endpointId",
			`"filter":{"partnerCode":"","reference":"tp_0"},"reason":"x"`:                                              `"/filter/partnerCode","detail":"must not be empty`,
			`"filter":{"endpointId":"","reference":"tp_0"},"reason":"x"`:                                               "/filter/endpointId",
			`"filter":{"reference":"","state":"exhausted"},"reason":"x"`:                                               "/filter/reference",
			`"filter":{"replayId":"","state":"exhausted"},"reason":"x"`:                                                "/filter/replayId",
			`"filter":{"reference":"tp_0","state":""},"reason":"x"`:                                                    "/filter/state",
			`"filter":{"reference":"tp_0","webhookType":""},"reason":"x"`:                                              "/filter/webhookType",
			`"filter":{"reference":"tp_0","errorClass":""},"reason":"x"`:                                               "/filter/errorClass",
			`"filter":{"reference":"tp_0","statusCode":0},"reason":"x"`:                                                "/filter/statusCode",
			`"filter":{"reference":"tp_0","since":""},"reason":"x"`:                                                    "/filter/since",
			`"filter":{"reference":"tp_0","until":"0001-01-01T00:00:00Z"},"reason":"x"`:                                "/filter/until",
			`"filter":{"partnerCode":null,"statusCode":null,"until":null},"reason":"x"`:                                `"/filter","detail":"must narrow`,
			`"filter":{"reference":"tp_0","cursor":"x"},"reason":"x"`:                                                  "/filter/cursor",
			`"filter":{"reference":"none"},"reason":"x"`:                                                               `"/filter","detail":"must match at least one`,
			`"filter":{"since":"2999-01-01T00:00:00Z"},"reason":"x"`:                                                   "at least one",
			`"filter":{"until":"0001-01-01T00:00:01Z"},"reason":"x"`:                                                   "at least one",
			`"filter":{"partnerCode":"nobody","reference":"' OR 1=1 --"},"reason":"x"`:                                 "at least one",
			`"filter":{"reference":"tp_0","state":"delivered"},"reason":"x"`:                                           "at least one",
			`"filter":{"reference":"tp_0","webhookType":"CreateCard"},"reason":"x"`:                                    "at least one",
			`"filter":{"reference":"tp_0","endpointId":"ep_1","statusCode":503},"reason":"x"`:                          "at least one",
		} {
			a.want(t, 400, "POST", "/replays", `{`+members+`}`, says)
		}
		a.want(t, 400, "POST", "/replays", `{"filter":{"partnerCode":"","state":"exhausted"},"dryRun":true}`, "/filter/partnerCode")
		a.want(t, 200, "GET", "/replays", nil, `"items":[]`)
		a.want(t, 200, "POST", "/replays", `{"filter":{"reference":"tp_0","partnerCode":null,"statusCode":null,"since":null},"dryRun":true}`, `"count":1,`)
		a.want(t, 200, "POST", "/replays", `{"filter":{"reference":"tp_0","since":"0001-01-01T00:00:01Z","until":"9999-12-31T23:59:59Z"},"dryRun":true}`, `"count":1,`)
	})
}
