package ops

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"ledgerhook/ledger/reports"
	"ledgerhook/webhook"
)

// What is known of endpoints from an earlier page is not shown beside partners
// that were read for this one.
func TestPartnersAreListedWithDashesForWhatIsNotKnownJustNow(t *testing.T) {
	windows := map[string]reports.PartnerWindows{"acme": {PartnerCode: "acme", Waiting: 9, Held: 7, Stopped: 1, LastSuccess: noon, Breakers: map[webhook.BreakerState]int{webhook.BreakerClosed: 2, webhook.BreakerOpen: 1}}}
	v := partnersView{
		Now:      noon,
		Partners: known([]reports.PartnerName{{Code: "acme"}, {Code: "bare"}}),
		Windows:  known(windows),
		Recent:   known(map[string]reports.Successes{"acme": {Attempts: 40, Delivered: 39}}),
		Oldest:   known(map[string]time.Time{"acme": noon.Add(-time.Hour)}),
	}
	rows := v.rows()
	if r := rows[0]; r.Health.Word != "failing" || r.Why != "1 of 3 endpoints held back by its breaker" || r.Share != "97.5 %" || r.Windows.Held != 7 || !r.Oldest.Equal(noon.Add(-time.Hour)) {
		t.Errorf("known: %+v", r)
	}
	if r := rows[1]; r.Health.Word != "quiet" || r.Why != "no endpoint" || r.Share != "" || !r.Oldest.IsZero() {
		t.Errorf("without an endpoint: %+v", r)
	}
	v.Windows = known(map[string]reports.PartnerWindows{"acme": {LastSuccess: noon, Breakers: map[webhook.BreakerState]int{webhook.BreakerClosed: 1}}})
	for attempts, word := range map[int64]string{2: "healthy", 3: "failing"} {
		v.Recent = known(map[string]reports.Successes{"acme": {Attempts: attempts}})
		if r := v.rows()[0]; r.Health.Word != word {
			t.Errorf("none of %d attempts succeeded: %+v", attempts, r)
		}
	}
	v.Windows.Fresh, v.Recent.Fresh, v.Oldest.Fresh = false, false, false
	for _, r := range v.rows() {
		if r.Health.Word != "" || r.Known || r.Windows.Held != 0 || r.Share != "" || !r.Windows.LastSuccess.IsZero() || !r.Oldest.IsZero() {
			t.Errorf("not known just now: %+v", r)
		}
	}
}

func TestAPartnersHealthIsTheWorstOfItsOpenEndpoints(t *testing.T) {
	states := func(closed, open, half int) map[webhook.BreakerState]int {
		return map[webhook.BreakerState]int{webhook.BreakerClosed: closed, webhook.BreakerOpen: open, webhook.BreakerHalfOpen: half}
	}
	late := noon.Add(-time.Minute)
	for name, c := range map[string]struct {
		w         reports.PartnerWindows
		word, why string
	}{
		"well":                       {reports.PartnerWindows{Breakers: states(1, 0, 0), LastSuccess: late}, "healthy", ""},
		"a breaker":                  {reports.PartnerWindows{Breakers: states(1, 1, 0), Stopped: 1, Slow: 1, LastSuccess: late}, "failing", "1 of 2 endpoints held back"},
		"failing":                    {reports.PartnerWindows{Breakers: states(2, 0, 0), Failing: 1, LastSuccess: late}, "failing", "1 of 2 endpoints without a success"},
		"slow":                       {reports.PartnerWindows{Breakers: states(1, 0, 1), Slow: 1, Probing: 1, LastSuccess: late, Pace: webhook.Pace{Took: 9000, Usual: 9000}, SlowPace: webhook.Pace{Took: 6600, Usual: 330}}, "slow", "20 times its usual"},
		"trying again":               {reports.PartnerWindows{Breakers: states(0, 0, 1), Probing: 1, LastSuccess: late}, "recovering", "1 of 1 endpoint tried again"},
		"paused with a breaker":      {reports.PartnerWindows{Breakers: states(0, 1, 0), Shut: 1, Held: 3, LastSuccess: late}, "held", "1 of 1 endpoint paused or disabled"},
		"paused, nothing waits":      {reports.PartnerWindows{Breakers: states(1, 0, 0), Shut: 1, LastSuccess: late}, "held", "paused or disabled"},
		"one of two paused, no load": {reports.PartnerWindows{Breakers: states(2, 0, 0), Shut: 1, LastSuccess: late}, "healthy", ""},
		"never":                      {reports.PartnerWindows{Breakers: states(1, 0, 0)}, "quiet", "no success yet"},
		"not for long":               {reports.PartnerWindows{Breakers: states(1, 0, 0), LastSuccess: noon.Add(-25 * time.Hour)}, "quiet", "no success for a day"},
		"without endpoint":           {reports.PartnerWindows{}, "quiet", "no endpoint"},
	} {
		if pill, why := healthOf(c.w, noon); pill.Word != c.word || !strings.Contains(why, c.why) || why == "" != (c.why == "") {
			t.Errorf("%s: %s, %q", name, pill.Word, why)
		}
	}
}

func TestTheListOfPartnersIsSortedAndFilteredByItsAddress(t *testing.T) {
	window := func(took time.Duration, waiting int64, last time.Duration) reports.PartnerWindows {
		return reports.PartnerWindows{Breakers: map[webhook.BreakerState]int{webhook.BreakerClosed: 1}, Pace: webhook.Pace{Took: took, Usual: took}, Waiting: waiting, LastSuccess: noon.Add(-last)}
	}
	failing := window(time.Second, 5, time.Hour)
	failing.Failing = 1
	v := partnersView{
		Now:      noon,
		Partners: known([]reports.PartnerName{{Code: "acme", Name: "Acme"}, {Code: "bolt", Name: "Thunder"}, {Code: "calm", Name: "Calm"}, {Code: "dead", Disabled: true}}),
		Windows:  known(map[string]reports.PartnerWindows{"acme": window(2*time.Second, 0, time.Minute), "bolt": failing, "calm": window(time.Millisecond, 9, 2*time.Minute)}),
		Recent:   known(map[string]reports.Successes{"acme": {Attempts: 10, Delivered: 9}, "bolt": {Attempts: 10, Delivered: 1}}),
		Oldest:   known(map[string]time.Time{"bolt": noon.Add(-time.Minute), "calm": noon.Add(-time.Hour)}),
	}
	for address, want := range map[string]string{
		"":                            "bolt dead acme calm",
		"sort=health":                 "bolt dead acme calm",
		"sort=code":                   "acme bolt calm dead",
		"sort=success":                "bolt acme calm dead",
		"sort=answers":                "acme bolt calm dead",
		"sort=waiting":                "calm bolt acme dead",
		"sort=oldest":                 "calm bolt acme dead",
		"sort=success-at":             "dead bolt calm acme",
		"health=failing":              "bolt",
		"health=slow":                 "",
		"health=healthy&sort=waiting": "calm acme",
	} {
		query, err := url.ParseQuery(address)
		if err != nil {
			t.Fatal(err)
		}
		asked, err := readPartnersQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		var codes []string
		for _, row := range asked.choose(v.rows()) {
			codes = append(codes, row.Code)
		}
		if got := strings.Join(codes, " "); got != want {
			t.Errorf("%q: %s, want %s", address, got, want)
		}
	}
	for _, address := range []string{"sort=luck", "health=fine", "cursor=acme", "cursor=-1"} {
		query, _ := url.ParseQuery(address)
		if _, err := readPartnersQuery(query); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
	asked := partnersQuery{typed: "a&b", health: "slow", sort: "waiting"}
	if c := asked.Column("Oldest", "oldest", false); c.Href != "/ops/partners?health=slow&q=a%26b&sort=oldest" || c.Order != "" {
		t.Errorf("%+v", c)
	}
	if c := asked.Column("Waiting", "waiting", true); c.Order != "descending" {
		t.Errorf("%+v", c)
	}
	if !slices.Equal(healths[:2], []string{"failing", "slow"}) {
		t.Errorf("the worst is not first: %v", healths)
	}
}
