package demo

import (
	"fmt"
	"math/rand/v2"
	"time"

	"ledgerhook/webhook"
)

// event is something that happened at a partner's customer.
type event struct {
	kind   webhook.Type
	object string // the id it is about
	status string
	data   map[string]any
}

// world makes up the life of one partner's customers: identity checks, cards,
// top-ups and purchases, each moving on as the catalogue says it does.
type world struct {
	rand  *rand.Rand
	last  int // the number of the newest object
	cards []string
	next  []func() event // what will happen to objects that have begun
}

func newWorld(r *rand.Rand) *world { return &world{rand: r, last: 1000} }

var (
	lastNames  = []string{"Nguyễn Văn", "Trần Thị", "Lê Hoàng", "Phạm Minh", "Vũ Ngọc", "Đặng Quốc", "Bùi Thu", "Hồ Thanh", "Dương Khánh", "Lý Gia"}
	firstNames = []string{"An", "Bình", "Châu", "Dũng", "Hà", "Hạnh", "Khoa", "Linh", "Mai", "Nam", "Phúc", "Quỳnh", "Sơn", "Thảo", "Vy"}
	shops      = []string{"Bún chả Hàng Mành, Hà Nội", "Cà phê trứng Hồ Gươm", "Chợ Bến Thành", "Tiền điện tháng này", "Nhà thuốc Tràng Tiền",
		"Siêu thị Cầu Giấy", "Vé tàu Sài Gòn – Nha Trang", "Khách sạn phố cổ Hội An", "Bánh mì Phượng & Ngọc", "Xăng dầu Thủ Đức",
		"Học phí tiếng Anh", "Phở Lò Đúc | quầy 2"}
	rejections = []string{"DOC_EXPIRED | Giấy tờ hết hạn | Document expired", "FACE_MISMATCH | Khuôn mặt không khớp | Face does not match",
		"DOC_BLURRED | Ảnh giấy tờ bị mờ | Document photo is blurred"}
)

func pick[T any](w *world, from []T) T { return from[w.rand.IntN(len(from))] }

func (w *world) chance(percent int) bool { return w.rand.IntN(100) < percent }

func (w *world) id(prefix string) string {
	w.last++
	return fmt.Sprintf("%s_%d", prefix, w.last)
}

func (w *world) follow(f func() event) { w.next = append(w.next, f) }

// happen is the next event. The same world never reports the same status of an
// object twice.
func (w *world) happen() event {
	if len(w.next) > 20 || len(w.next) > 0 && w.chance(60) {
		f := w.next[0]
		w.next = w.next[1:]
		return f()
	}
	switch r := w.rand.IntN(100); {
	case len(w.cards) == 0 || r < 10:
		return w.card()
	case r < 30:
		return w.identity(w.id("acc"), "NONE")
	case r < 55:
		return w.topup()
	default:
		return w.purchase()
	}
}

func (w *world) make(kind webhook.Type, id, status string, data map[string]any) event {
	data["status"], data["createdAt"] = status, time.Now().Unix()
	return event{kind, id, status, data}
}

func (w *world) card() event {
	id, status := w.id("card"), "Init"
	if w.chance(5) {
		status = "InitFailed"
	} else {
		w.cards = append(w.cards, id)
	}
	return w.make(webhook.CreateCard, id, status, map[string]any{
		"id": id, "firstName": pick(w, firstNames), "lastName": pick(w, lastNames),
		"cardNumber": fmt.Sprintf("970415******%04d", w.rand.IntN(10000)),
	})
}

// identity reports where an account's identity check stands. One that succeeds
// brings a card.
func (w *world) identity(account, status string) event {
	reason := ""
	switch status {
	case "NONE":
		w.follow(func() event { return w.identity(account, "SUBMITTED") })
	case "SUBMITTED":
		w.follow(func() event { return w.identity(account, "UNDER_REVIEW") })
	case "UNDER_REVIEW":
		end := "VERIFIED"
		if w.chance(20) {
			end = "REJECTED"
		}
		w.follow(func() event { return w.identity(account, end) })
	case "VERIFIED":
		w.follow(w.card)
	case "REJECTED":
		reason = pick(w, rejections)
	}
	return w.make(webhook.ProfileUpdated, account, status, map[string]any{"accountId": account, "rejectReason": reason})
}

func (w *world) topup() event {
	id, amount, card := w.id("top"), (1+w.rand.IntN(40))*50_000, pick(w, w.cards)
	data := func() map[string]any {
		return map[string]any{"id": id, "cardId": card, "amount": amount, "fee": amount / 200}
	}
	return w.payment(webhook.TopupCard, id, data)
}

func (w *world) purchase() event {
	id, amount, shop, card := w.id("tx"), (15+w.rand.IntN(1500))*1_000, pick(w, shops), pick(w, w.cards)
	kind := "Consumption"
	if w.chance(8) {
		kind = "Refund"
	}
	exchange, service := amount/100, 1_100
	data := func() map[string]any {
		return map[string]any{"id": id, "cardId": card, "amount": amount, "type": kind, "description": shop,
			"fee": exchange + service, "feeDetails": []map[string]any{
				{"amount": exchange, "currency": "VND", "feeType": "FX"},
				{"amount": service, "currency": "VND", "feeType": "SERVICE"},
			}}
	}
	return w.payment(webhook.CardTransaction, id, data)
}

// payment begins as pending and ends completed, or rejected now and then.
func (w *world) payment(kind webhook.Type, id string, data func() map[string]any) event {
	end := "Completed"
	if w.chance(10) {
		end = "Rejected"
	}
	w.follow(func() event { return w.make(kind, id, end, data()) })
	return w.make(kind, id, "Pending", data())
}
