package incidents

import (
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Letter is what people are told.
type Letter struct{ Subject, Body string }

// Reader is somebody who gets a letter.
type Reader struct {
	Lang     string // en, vi or zh
	Operator bool
	Link     string // where more is to be seen; empty: nowhere
}

// Write tells a reader that act has happened to i, which Act.Told says.
func Write(i Incident, act Act, to Reader) Letter {
	w, known := words[to.Lang]
	if !known {
		w = words["en"]
	}
	head := w.headline(i)
	subject := map[Act]string{ActOpen: head, ActRemind: fmt.Sprintf(w.still, w.duration(reminders[max(0, i.Reminded-1)]), head), ActClose: fmt.Sprintf(w.over, head)}[act]
	var body []string
	if act == ActClose {
		body = append(body, fmt.Sprintf(w.lasted, w.duration(i.ClearedAt.Sub(i.Since())), stamp(i.Since()), stamp(i.ClearedAt)))
		if i.Kind.counts() {
			body = append(body, w.outcome(i.Outcome))
		}
	} else {
		body = append(body, w.found(i))
		if next := w.next[i.Kind]; next != "" {
			body = append(body, next)
		}
	}
	if i.URL != "" {
		body = append(body, fmt.Sprintf(w.endpoint, i.URL))
	}
	if i.PartnerCode != "" && to.Operator {
		body = append(body, "Partner: "+i.PartnerCode)
	}
	if to.Link != "" {
		body = append(body, to.Link)
	}
	foot := w.why
	if to.Operator {
		foot = "Ledgerhook, incident " + i.ID
	}
	return Letter{subject, head + "\n\n" + strings.Join(append(body, foot), "\n\n") + "\n"}
}

// Test is the letter that shows that letters arrive.
func Test(to Reader) Letter {
	return Letter{"Ledgerhook: a test message",
		"This is a test. Incidents of the gateway and of its partners' endpoints are told this way.\n\n" + to.Link + "\n"}
}

// Headline says in English what i is, in a line.
func Headline(i Incident) string { return words["en"].headline(i) }

// Says is in English what was found, with its figures.
func Says(i Incident) string { return words["en"].found(i) }

// Ends says in English what became of the deliveries of a closed incident;
// empty if its kind keeps none from arriving.
func Ends(i Incident) string {
	if !i.Kind.counts() {
		return ""
	}
	return words["en"].outcome(i.Outcome)
}

// language is what letters are made of.
type language struct {
	heads map[Kind]string // an endpoint's takes its host
	finds map[Rule]string // what was found; its verbs are named in found
	next  map[Kind]string // what to do
	still string          // takes a duration and a headline
	over  string          // takes a headline
	// lasted takes a duration and two times, ended an outcome's figures, endpoint a URL.
	lasted, ended, atLeast, endpoint, why string
	unharmed                              string // in place of ended if nothing was late
	never                                 string
	units                                 [3]string // day, hour, minute
}

// headline says what i is in a line.
func (w language) headline(i Incident) string {
	head := w.heads[i.Kind]
	if i.Kind.Theirs() {
		return fmt.Sprintf(head, host(i.URL))
	}
	return head
}

// found says what a rule found: {n}, {detail} and {time} stand for the figures.
func (w language) found(i Incident) string {
	detail := i.Detail
	if detail == "" {
		detail = w.never
	}
	return strings.NewReplacer("{n}", fmt.Sprint(i.N), "{detail}", detail, "{time}", stamp(i.Time), "{since}", stamp(i.Since())).Replace(w.finds[i.Rule])
}

func (w language) outcome(o Outcome) string {
	if o == (Outcome{}) {
		return w.unharmed
	}
	said := fmt.Sprintf(w.ended, o.Late, o.NotDelivered, o.Waiting)
	if o.Late+o.NotDelivered+o.Waiting >= MaxOutcome {
		said += " " + w.atLeast
	}
	return said
}

// duration spells d in its two largest units, down to the minute.
func (w language) duration(d time.Duration) string {
	minutes := max(1, int(d.Round(time.Minute)/time.Minute))
	parts := [3]int{minutes / (24 * 60), minutes / 60 % 24, minutes % 60}
	var said []string
	for i, n := range parts {
		if n > 0 && len(said) < 2 {
			said = append(said, fmt.Sprintf("%d %s", n, w.units[i]))
		}
	}
	return strings.Join(said, " ")
}

// stamp spells a time.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// host is that of an endpoint's URL, for a headline: a path or a query may hold
// what is no mail server's business.
func host(endpoint string) string {
	at, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return at.Host
}

var words = map[string]language{
	"en": {
		heads: map[Kind]string{
			Failing: "Webhooks to %s are not getting through", Disabled: "Webhooks to %s have been disabled", Certificate: "The certificate of %s ends soon",
			Canary: "Our own test notifications do not arrive", Backlog: "Deliveries wait for the gateway", Egress: "Most receivers fail at once", Rates: "Exchange rates are too old",
		},
		finds: map[Rule]string{
			BreakerOpen:       "Attempts have failed since {since}. The latest result: {detail}. Deliveries wait and are sent automatically once the receiver answers again.",
			Exhausted:         "Deliveries given up in the last hour, after every retry: {n}. The latest result: {detail}. They stay recorded and can be sent again.",
			Waiting:           "The oldest delivery has waited for its first attempt since {time}: the receiver takes less than is due.",
			Rule(Disabled):    "No delivery has succeeded since {since}, so nothing is sent any more. The latest result: {detail}. Deliveries are kept.",
			Rule(Certificate): "It ends at {time}. Afterwards no delivery gets through.",
			Rule(Canary):      "What the gateway sends to itself does not arrive. Workers affected: {n}. The reason: {detail}",
			Rule(Backlog):     "The oldest delivery that is ready to leave has waited since {time}.",
			Rule(Egress):      "{n} hosts fail at the same time, which is rarely the receivers' fault. No partner is told of it as theirs.",
			Rule(Rates):       "Rates that give no price: {n}. The oldest, of {detail}, was set at {time}. Partners get no quotes without a price.",
		},
		next: map[Kind]string{
			Failing:     "Check that the receiver is reachable and answers 2xx.",
			Disabled:    "Repair the receiver, then resume the endpoint: what was kept is sent.",
			Certificate: "Renew the receiver's certificate.",
			Canary:      "No receiver is involved. Look at the signing key and at the worker.",
			Backlog:     "Look at the workers and the queue.",
			Egress:      "Check DNS, the firewall and the workers' route to the internet.",
			Rates:       "Look at what feeds the rates.",
		},
		still: "Still open after %s: %s", over: "Over: %s", lasted: "It lasted %s, from %s to %s.",
		ended: "Of the deliveries made meanwhile, %d were delivered late, %d were not delivered, and %d are still waiting.", atLeast: "(Only the first 10,000 were counted.)",
		unharmed: "No delivery was late because of it.",
		endpoint: "Endpoint: %s", why: "You get this message because your address is a contact of this endpoint.", never: "no answer",
		units: [3]string{"d", "h", "min"},
	},
	"vi": {
		heads: map[Kind]string{
			Failing: "Webhook gửi đến %s không tới nơi", Disabled: "Webhook gửi đến %s đã bị tắt", Certificate: "Chứng chỉ của %s sắp hết hạn",
		},
		finds: map[Rule]string{
			BreakerOpen:       "Các lần gửi thất bại từ {since}. Kết quả mới nhất: {detail}. Thông báo đang chờ và sẽ tự động được gửi khi bên nhận trả lời lại.",
			Exhausted:         "Số thông báo đã ngừng gửi trong một giờ qua, sau mọi lần thử lại: {n}. Kết quả mới nhất: {detail}. Chúng vẫn được lưu và có thể gửi lại.",
			Waiting:           "Thông báo cũ nhất đã chờ lần gửi đầu tiên từ {time}: bên nhận xử lý chậm hơn lượng cần gửi.",
			Rule(Disabled):    "Không có thông báo nào gửi thành công từ {since}, vì vậy hệ thống không gửi nữa. Kết quả mới nhất: {detail}. Các thông báo vẫn được giữ lại.",
			Rule(Certificate): "Chứng chỉ hết hạn lúc {time}. Sau đó sẽ không gửi được thông báo nào.",
		},
		next: map[Kind]string{
			Failing:     "Hãy kiểm tra rằng bên nhận truy cập được và trả lời 2xx.",
			Disabled:    "Hãy sửa bên nhận rồi bấm “Tiếp tục” cho điểm nhận: những thông báo đã giữ sẽ được gửi.",
			Certificate: "Hãy gia hạn chứng chỉ của bên nhận.",
		},
		still: "Sau %s vẫn chưa khắc phục: %s", over: "Đã khắc phục: %s", lasted: "Sự cố kéo dài %s, từ %s đến %s.",
		ended: "Trong số thông báo phát sinh trong thời gian đó, %d được gửi trễ, %d không gửi được và %d vẫn đang chờ.", atLeast: "(Chỉ đếm 10.000 thông báo đầu tiên.)",
		unharmed: "Không có thông báo nào bị gửi trễ vì sự cố này.",
		endpoint: "Điểm nhận: %s", why: "Bạn nhận thư này vì địa chỉ của bạn là liên hệ của điểm nhận này.", never: "không có trả lời",
		units: [3]string{"ngày", "giờ", "phút"},
	},
	"zh": {
		heads: map[Kind]string{
			Failing: "发往 %s 的 webhook 无法送达", Disabled: "发往 %s 的 webhook 已停用", Certificate: "%s 的证书即将到期",
		},
		finds: map[Rule]string{
			BreakerOpen:       "自 {since} 起发送一直失败。最近结果：{detail}。通知正在等待，接收端恢复响应后会自动发送。",
			Exhausted:         "最近一小时内在全部重试后停止发送的通知：{n} 条。最近结果：{detail}。这些通知仍有记录，可以重新发送。",
			Waiting:           "最早的通知自 {time} 起一直在等待首次发送：接收端的处理速度跟不上。",
			Rule(Disabled):    "自 {since} 起没有任何通知发送成功，因此已停止发送。最近结果：{detail}。通知会被保留。",
			Rule(Certificate): "证书将于 {time} 到期，之后所有通知都无法送达。",
		},
		next: map[Kind]string{
			Failing:     "请检查接收端能否访问，并且返回 2xx。",
			Disabled:    "请修复接收端，然后恢复该端点：保留的通知会随即发送。",
			Certificate: "请更新接收端的证书。",
		},
		still: "%s后仍未恢复：%s", over: "已恢复：%s", lasted: "本次故障持续 %s，从 %s 到 %s。",
		ended: "期间产生的通知中，%d 条延迟送达，%d 条未送达，%d 条仍在等待。", atLeast: "（只统计前 10,000 条。）",
		unharmed: "没有通知因此延迟送达。",
		endpoint: "端点：%s", why: "您收到此邮件，是因为您的地址是该端点的联系人。", never: "无响应",
		units: [3]string{"天", "小时", "分钟"},
	},
}
