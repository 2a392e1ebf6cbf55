package deliveries

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"ledgerhook/ledger/reports"
	"ledgerhook/webhook"
)

var queryNow = time.Date(2026, 3, 9, 15, 30, 0, 0, time.UTC)

func TestASearchReadsAsItIsTyped(t *testing.T) {
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 3, day, hour, minute, 0, 0, time.UTC) }
	type q = reports.DeliveryQuery
	for typed, want := range map[string]q{
		"":                               {NeedsAttention: true},
		"   ":                            {NeedsAttention: true},
		"state:attention":                {NeedsAttention: true},
		"state:any":                      {},
		"tp_1":                           {Reference: "tp_1"},
		"ref:a:b":                        {Reference: "a:b"},
		"Reference:ord_1":                {Reference: "ord_1"},
		"host:Example.COM":               {Host: "example.com"},
		"partner:acme,globex state:held": {PartnerCodes: []string{"acme", "globex"}, States: []webhook.State{webhook.Held}},
		"partner:acme state:exhausted code:5xx since:14:00": {PartnerCode: "acme", States: []webhook.State{webhook.Exhausted}, StatusClass: 5, Since: at(9, 14, 0)},
		"state:held,PENDING,held":                           {States: []webhook.State{webhook.Held, webhook.Pending}},
		"type:createcard class:dns,tls trigger:replay":      {Types: []webhook.Type{webhook.CreateCard}, ErrorClasses: []webhook.ErrorClass{webhook.ErrorDNS, webhook.ErrorTLS}, Triggers: []webhook.Trigger{webhook.TriggerReplay}},
		"code:404 attempts:3":                               {StatusCode: 404, AttemptsMin: 3, AttemptsMax: 3},
		"attempts:>3":                                       {AttemptsMin: 4},
		"attempts:<=3":                                      {AttemptsMax: 3},
		"attempts:2..4":                                     {AttemptsMin: 2, AttemptsMax: 4},
		"duration:>=2s delay:>=5s":                          {DurationMin: 2 * time.Second, DelayMin: 5 * time.Second},
		"duration:1s..2s":                                   {DurationMin: time.Second, DurationMax: 2 * time.Second},
		"since:16:00":                                       {Since: at(8, 16, 0)},
		"since:2026-03-01 until:2026-03-02T12:30":           {Since: at(1, 0, 0), Until: at(2, 12, 30)},
		"since:7d until:90m":                                {Since: at(2, 15, 30), Until: at(9, 14, 0)},
		"since:2026-03-09T15:00:00+07:00 endpoint:ep_1":     {Since: at(9, 8, 0), EndpointID: "ep_1"},
	} {
		got, err := parseQuery(typed, queryNow)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", typed, got, err)
		}
	}
}

// A time without an offset is meant as the clock of who types it shows it.
func TestTimesAreReadInTheZoneOfWhoTypesThem(t *testing.T) {
	here := queryNow.In(time.FixedZone("", 7*60*60)) // 22:30
	for typed, want := range map[string]string{
		"14:00": "2026-03-09T07:00:00Z", "23:00": "2026-03-08T16:00:00Z", "2026-03-09": "2026-03-08T17:00:00Z", "2026-03-09T14:00": "2026-03-09T07:00:00Z",
		"2026-03-09T14:00:05": "2026-03-09T07:00:05Z", "2026-03-09T14:00+09:00": "2026-03-09T05:00:00Z", "2026-03-09T14:00:00Z": "2026-03-09T14:00:00Z", "2h": "2026-03-09T13:30:00Z", "2d": "2026-03-07T15:30:00Z",
	} {
		got, err := parseQuery("since:"+typed, here)
		if err != nil || got.Since.Location() != time.UTC || got.Since.Format(time.RFC3339) != want {
			t.Errorf("%s: %s, %v, want %s", typed, got.Since.Format(time.RFC3339), err, want)
		}
	}
	if _, err := parseQuery("since:noon", here); err == nil || !strings.Contains(err.Error(), "which is in UTC+7 without an offset such as +07:00") {
		t.Errorf("%v", err)
	}
}

// A search that is handed to somebody else means to them what it meant to who typed it.
func TestAnAbsoluteSearchMeansTheSameToEverybody(t *testing.T) {
	here, there := queryNow.Add(time.Millisecond).In(time.FixedZone("", 7*60*60)), queryNow.AddDate(0, 0, 3).In(time.FixedZone("", -5*60*60))
	for typed, want := range map[string]string{
		"":                                  "",
		"partner:acme  Since:24h":           "partner:acme since:2026-03-08T15:30:00.001Z",
		"since:2026-03-09 until:14:00 tp_1": "since:2026-03-08T17:00:00Z until:2026-03-09T07:00:00Z tp_1",
		"since:noon":                        "since:noon",
	} {
		got := absolute(typed, here)
		if got != want || absolute(got, there) != got {
			t.Errorf("%q is %q, and later elsewhere %q", typed, got, absolute(got, there))
		}
		meant, err := parseQuery(typed, here)
		if read, err2 := parseQuery(got, there); (err == nil) != (err2 == nil) || !reflect.DeepEqual(read, meant) {
			t.Errorf("%q: %+v (%v), want %+v (%v)", typed, read, err2, meant, err)
		}
	}
}

func TestASearchSaysWhatIsWrongWithIt(t *testing.T) {
	for typed, says := range map[string]string{
		"colour:red":                        "“colour” is not something to search by",
		":x":                                "is not something to search by",
		"partner:":                          "partner: needs a value",
		"partner:acme,":                     "partner: must be one code, or several with commas between.",
		"state:held state:any":              "state: is given twice",
		"state:lost":                        "there is no “lost”. It takes: pending",
		"state:held,":                       "there is no “”",
		"type:Refund":                       "It takes: CreateCard",
		"class:nope":                        "class: there is no",
		"code:600":                          "like 503 or a class like 5xx",
		"code:9xx":                          "like 503",
		"attempts:0":                        "from 1",
		"attempts:5..2":                     "2..4",
		"attempts:<1":                       "from 1",
		"duration:3s":                       "a range like >2s",
		"duration:>-3s":                     "a range like >2s",
		"delay:<3s":                         "a least time",
		"since:yesterday":                   "since: must be a time like 14:00, 2026-01-31 or 2026-01-31T14:00, which is in UTC without an offset",
		"until:25:00":                       "until: must be a time like 14:00",
		"since:2026-03-02 until:2026-03-01": "since: must be before",
		"a\x00b":                            "cannot be typed",
		"\xff":                              "cannot be typed",
		strings.Repeat("x", maxQuery+1):     "too long",
	} {
		_, err := parseQuery(typed, queryNow)
		var wrong *queryError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", typed, err, says)
		}
	}
}

func FuzzASearchIsReadOrSaidToBeWrong(f *testing.F) {
	for _, seed := range []string{"partner:acme state:exhausted code:5xx since:14:00", "attempts:2..4 duration:>2s", "x", "since:7d", "code:\x00", "delay:>5s"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		q, err := parseQuery(typed, queryNow)
		var wrong *queryError
		if err != nil && (!errors.As(err, &wrong) || err.Error() == "") {
			t.Fatalf("%q: %v", typed, err)
		}
		if err == nil && (q.AttemptsMin < 0 || q.AttemptsMax < 0 || q.DurationMin < 0 || q.DurationMax < 0 || q.DelayMin < 0 || q.StatusCode > 599 ||
			!q.Until.IsZero() && !q.Since.Before(q.Until)) {
			t.Fatalf("%q: %+v", typed, q)
		}
	})
}

// A search of several partners is narrowed to those that are ticked; it never
// becomes one of others, or of all.
func TestASearchOfPartnersIsNarrowedToSome(t *testing.T) {
	const several = "partner:acme,globex state:exhausted"
	for _, each := range []struct {
		typed string
		only  []string
		want  string // empty: refused
	}{
		{several, []string{"globex"}, "state:exhausted partner:globex"},
		{several, []string{"globex", "acme"}, "state:exhausted partner:acme,globex"},
		{several, []string{"globex", "initech", ""}, "state:exhausted partner:globex"},
		{several, nil, ""},
		{several, []string{""}, ""},
		{several, []string{"initech"}, ""},
		{"state:exhausted", []string{"acme"}, ""},
	} {
		got, err := ofPartners(each.typed, each.only, time.Now())
		if each.want == "" {
			if err == nil || err.Error() != "Choose at least one partner." {
				t.Errorf("%s of %q: %q, %v", each.typed, each.only, got, err)
			}
		} else if err != nil || got != each.want {
			t.Errorf("%s of %q: %q, %v, want %q", each.typed, each.only, got, err, each.want)
		}
	}
}

func TestATestLeadsToNoOrder(t *testing.T) {
	v := deliveryView{}
	v.PartnerCode, v.ObjectID, v.Type = "acme", "test", webhook.CashoutOrderUpdated
	if got := v.OrderPath(); got != "/ops/orders?partner=acme&ref=test" {
		t.Errorf("an order that is called test: %q", got)
	}
	if v.Trigger = webhook.TriggerTest; v.OrderPath() != "" {
		t.Errorf("a test leads to %q", v.OrderPath())
	}
}
