package orders

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ledgerhook/webhook"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestNotificationOfAnOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrder(t)
		o.BankTransfer.AccountName = "NGUYỄN VĂN <A> & \u2028"
		from := o.Status
		time.Sleep(90*time.Second + 500*time.Millisecond)
		o, _, err := o.Transition(StatusPaymentCompleted, TransitionInput{Description: "paid"})
		if err != nil {
			t.Fatal(err)
		}
		event, err := UpdatedEvent(o, from)
		if err != nil {
			t.Fatal(err)
		}
		if event.Type != webhook.CashoutOrderUpdated || event.PartnerCode != "PARTNER01" || event.OrderingKey != "ORD-0001" ||
			event.ObjectID != "ORD-0001" || event.Status != "PAYMENT_COMPLETED" || !event.Success() {
			t.Errorf("event %+v", event)
		}
		if err := webhook.CheckID("id", webhook.EventPrefix, event.ID); err != nil {
			t.Error(err)
		}
		got := strings.ReplaceAll(string(event.Data), event.ID, "evt_01")
		const golden = "testdata/notification.golden.json"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("data\n got %s\nwant %s", got, want)
		}
		again := jsontext.Value(bytes.Clone(event.Data))
		if err := again.Canonicalize(); err != nil || string(again) != string(event.Data) {
			t.Errorf("the data is not canonical: %s, %v", again, err)
		}
	})
}

func TestNotificationShowsNoQRCode(t *testing.T) {
	o := newOrder(t)
	data, err := updatedData("evt_01", o, StatusError, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "qrUrl") || strings.Contains(string(data), o.BankTransfer.QRToken) {
		t.Errorf("data %s", data)
	}
}

func TestFailuresAreNotASuccess(t *testing.T) {
	o := newOrder(t)
	for _, to := range Statuses[1:] {
		o.Status = to
		event, err := UpdatedEvent(o, StatusAwaitingPayment)
		if want := to != StatusFail && to != StatusError; err != nil || event.Success() != want {
			t.Errorf("%s: success %t, %v", to, event.Success(), err)
		}
	}
}
