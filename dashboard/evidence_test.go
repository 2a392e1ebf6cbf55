package dashboard_test

import (
	"bytes"
	"crypto/rsa"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"ledgerhook/dashboard/proof"
	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// refused401 is an attempt over TLS that a receiver refused.
var refused401 = webhook.Attempt{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorHTTP4xx, StatusCode: 401, ErrorDetail: "answered 401 Unauthorized",
	PeerIP: "93.184.216.34", TLSVersion: "TLS 1.3", TLSNotAfter: time.Unix(1900000000, 0), Certificate: bytes.Repeat([]byte{0xc5}, 32), ResponseBody: []byte("wrong <signature>"), Phases: webhook.Phases{Total: 42 * time.Millisecond}}

// sentOnce appends an event of a partner and has the first attempt at it come
// to a. It returns the delivery's id.
func (h *signingHouse) sentOnce(t *testing.T, partner, object string, a webhook.Attempt, state webhook.State) string {
	t.Helper()
	e := ledgertest.NewEvent(partner, object, "Pending")
	e.Event.Signatures = partners.DefaultSettings().Signatures
	stored, err := h.Append(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	for _, ticket := range h.Tickets() {
		job, ok, err := h.Claim(t.Context(), ticket, "wrk_1")
		if err != nil || !ok {
			t.Fatalf("claim: %t %v", ok, err)
		}
		header, _, err := h.composer.Compose(t.Context(), delivery.Job{Event: job.Event, Delivery: job.Delivery, Secrets: []delivery.SealedSecret{{Purpose: h.secret.SealPurpose(), Sealed: h.secret.Sealed}}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		a.ID, a.DeliveryID, a.Number, a.StartedAt, a.KeyID, a.RequestHeaders = webhook.NewID(webhook.AttemptPrefix), job.Delivery.ID, 1, time.Now(), gatewayKey().ID(), header
		r := delivery.Result{DeliveryID: job.Delivery.ID, EndpointID: job.Delivery.EndpointID, Generation: job.Delivery.Generation, Attempt: a, Verdict: delivery.Verdict{State: state}}
		if _, err := h.Record(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return stored.DeliveryIDs[0]
}

// provingHouse is a house where acme and globex have an endpoint, and oscar is
// an operator who may read.
func provingHouse(t *testing.T, b *ledgertest.Bench) (h *signingHouse, ops, eve, mallory *browser) {
	t.Helper()
	h = newSigningHouse(t, b)
	h.Endpoint(t, "acme", 32)
	h.Endpoint(t, "globex", 32)
	h.join(t, "", "oscar", partners.RoleViewer)
	ops, eve, mallory = h.browse(t, h.ops), h.browse(t, h.portal), h.browse(t, h.portal)
	ops.signIn("/ops", "oscar")
	eve.signIn("/portal", "eve")
	mallory.signIn("/portal", "mallory")
	return h, ops, eve, mallory
}

// packIn reads the pack of a JSON file, whose signature must be right.
func packIn(t *testing.T, file string) (p proof.Pack) {
	t.Helper()
	if c := signer.CheckNotification(t.Context(), []*rsa.PublicKey{gatewayKey().Public()}, []byte(file)); !c.Right {
		t.Fatalf("the signature is wrong, %v: %.500s", c.Err, file)
	}
	var parts struct{ Data proof.Pack }
	if err := json.Unmarshal([]byte(file), &parts); err != nil {
		t.Fatal(err)
	}
	return parts.Data
}

func TestEvidenceOfADeliveryIsHandedOver(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		h, ops, eve, mallory := provingHouse(t, b)
		id := h.sentOnce(t, "acme", "tp_1", refused401, webhook.Exhausted)
		found, err := h.Reports.Attempts(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		certificate := hex.EncodeToString(refused401.Certificate)
		for base, b := range map[string]*browser{"/ops": ops, "/portal": eve} {
			if page := b.want(200, "GET", base+"/deliveries/"+id, nil); !strings.Contains(page.text, `href="`+base+"/deliveries/"+id+`/evidence"`) {
				t.Errorf("%s: the delivery does not lead to its evidence", base)
			}
			page := b.want(200, "GET", base+"/deliveries/"+id+"/evidence", nil, certificate, "93.184.216.34", "answered 401", "wrong &lt;signature&gt;", "TLS 1.3",
				"We sent TopupCard for tp_1 (event "+h.look(t, id).EventID+") to its endpoint, now at https://partner.example.com/hook.", "It has not been delivered.", "Thông báo chưa được gửi thành công.", "尚未送达。", "https://pay.example.com/portal/deliveries/"+id+"/evidence", gatewayKey().ID())
			text := html.UnescapeString(regexp.MustCompile(`(?s)The signed text</summary><pre[^>]*>(.*?)</pre>`).FindStringSubmatch(page.text)[1])
			signature := html.UnescapeString(regexp.MustCompile(`<dt>Signature</dt><dd><code[^>]*>([^<]*)<`).FindStringSubmatch(page.text)[1])
			if err := signer.Verify(gatewayKey().Public(), []byte(text), signature); err != nil {
				t.Errorf("%s: what the page shows as signed: %v", base, err)
			}
			file := b.want(200, "GET", base+"/deliveries/"+id+"/evidence?as=json", nil)
			if got := file.Header.Get("Content-Disposition"); got != `attachment; filename="evidence-`+id+`.json"` {
				t.Errorf("%s: the file is %q", base, got)
			}
			pack := packIn(t, file.text)
			d := pack.Deliveries[0]
			body, err := h.composer.Body(t.Context(), eventOf(t, h, d.EventID))
			if err != nil {
				t.Fatal(err)
			}
			a := d.Attempts[0]
			if pack.Kind != proof.Kind || pack.PartnerCode != "acme" || !pack.Bounds.Complete || pack.KeyID != gatewayKey().ID() || len(pack.Notes) == 0 ||
				d.DeliveryID != id || d.URL != "https://partner.example.com/hook" || d.State != "exhausted" || d.BodyBytes != len(body) || d.DataSHA256 == "" || d.BodySHA256 == d.DataSHA256 ||
				a.Address != "93.184.216.34" || a.CertificateSHA256 != certificate || a.StatusCode != 401 || a.Answer != "wrong <signature>" ||
				a.WebhookSignature != found[0].RequestHeaders["Webhook-Signature"][0] || a.WebhookTimestamp == "" {
				t.Errorf("%s: %+v", base, pack)
			}
		}
		mallory.want(404, "GET", "/portal/deliveries/"+id+"/evidence", nil)
		mallory.want(404, "GET", "/portal/deliveries/"+id+"/evidence?as=json", nil)
		eve.want(400, "GET", "/portal/deliveries/"+id+"/evidence?as=pdf", nil)
		if n := b.Count(t, "SELECT COUNT(*) FROM audit WHERE action = 'evidence.take' AND target = $1 AND partner_code = 'acme'", id); n != 4 {
			t.Errorf("%d entries of the audit log, want one for each page and each file", n)
		}
	})
}

func TestEvidenceDoesNotSayThatItSentWhatNoConnectionTook(t *testing.T) {
	h, ops, _, _ := provingHouse(t, ledgertest.New(t, "sqlite"))
	wrong := refused401
	wrong.ErrorClass, wrong.StatusCode, wrong.ResponseBody = webhook.ErrorTLS, 0, nil
	for _, a := range []webhook.Attempt{wrong, {Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorDNS}} {
		id := h.sentOnce(t, "acme", "tp_1", a, webhook.Exhausted)
		page := ops.want(200, "GET", "/ops/deliveries/"+id+"/evidence", nil, "We tried to send TopupCard for tp_1", "Chúng tôi đã thử gửi TopupCard", "我们曾尝试将 TopupCard")
		if strings.Contains(page.text, "We sent") {
			t.Errorf("%s: it says that it was sent", a.ErrorClass)
		}
		if page := ops.want(200, "GET", "/ops/deliveries/"+id, nil); strings.Contains(page.text, "evidence.take") {
			t.Error("that it was looked at stands in the delivery's history")
		}
	}
}

func eventOf(t *testing.T, h *signingHouse, id string) webhook.Event {
	t.Helper()
	e, err := h.Reports.Event(t.Context(), partners.Everything(), id)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Whoever has openssl and the gateway's public key needs nothing of ours.
func TestEvidenceIsVerifiedByOpenSSL(t *testing.T) {
	h, ops, eve, _ := provingHouse(t, ledgertest.New(t, "sqlite"))
	id := h.sentOnce(t, "acme", "tp_1", refused401, webhook.Exhausted)
	dir := t.TempDir()
	keep := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	verified := func(command string) bool {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir = dir
		said, _ := cmd.CombinedOutput() // exits 1 for a wrong signature
		return strings.Contains(string(said), "Verified OK")
	}
	program, err := os.ReadFile("portal/snippets/verify.sh")
	if err != nil {
		t.Fatal(err)
	}
	keep("verify.sh", string(program))
	keep("gateway.pub.pem", eve.want(200, "GET", "/portal/gateway.pub.pem", nil).text)
	const table = `head -n -1 evidence.csv > signed.txt; tail -n 1 evidence.csv | cut -d ' ' -f 3 | openssl base64 -d -A > signature.bin; openssl dgst -sha256 -verify gateway.pub.pem -signature signature.bin signed.txt`
	for _, address := range []string{"/ops/deliveries/" + id + "/evidence", "/ops/deliveries/evidence?q=state:any"} {
		with := map[bool]string{true: "&", false: "?"}[strings.Contains(address, "?")]
		file, rows := ops.want(200, "GET", address+with+"as=json", nil).text, ops.want(200, "GET", address+with+"as=csv", nil).text
		for name, check := range map[string]string{"body.json": "sh verify.sh", "evidence.csv": table} {
			text := map[string]string{"body.json": file, "evidence.csv": rows}[name]
			keep(name, text)
			if !verified(check) {
				t.Errorf("%s of %s is refused: %.1000s", name, address, text)
			}
			if keep(name, strings.Replace(text, "401", "200", 1)); verified(check) {
				t.Errorf("an altered %s of %s is taken", name, address)
			}
		}
	}
}

func TestEvidenceOfAListIsOfOnePartner(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		h, ops, eve, mallory := provingHouse(t, b)
		inside := refused401
		inside.PeerIP = "10.0.0.9"
		first, second := h.sentOnce(t, "acme", "=tp_1", refused401, webhook.Exhausted), h.sentOnce(t, "acme", "tp_2", webhook.Attempt{Outcome: webhook.OutcomeDelivered, StatusCode: 200}, webhook.Delivered)
		foreign := h.sentOnce(t, "globex", "tp_9", inside, webhook.Exhausted)
		ops.want(400, "GET", "/ops/deliveries/evidence?q=state:any", nil, "must be one: evidence is handed to one partner")
		ops.want(400, "GET", "/ops/deliveries/evidence?q=nonsense:x", nil)
		ops.want(400, "GET", "/ops/deliveries/evidence?q=state:any+ref:nothing", nil, "nothing was found")
		ops.want(200, "GET", "/ops/deliveries/evidence?q=state:any+partner:acme", nil, "Of 2 notifications, 1 were delivered and 1 were not.", "https://pay.example.com/portal/deliveries/evidence?id="+second+"&amp;id="+first+"</pre>", first, second, "Nothing was left out.")
		eve.want(200, "GET", "/portal/deliveries/evidence?q=state:any", nil, first, second)
		for _, address := range []string{"/portal/deliveries/evidence?q=state:any&as=json", "/portal/deliveries/evidence?as=json&id=" + first + "&id=" + foreign} {
			if pack := packIn(t, mallory.want(200, "GET", address, nil).text); pack.PartnerCode != "globex" || len(pack.Deliveries) != 1 || pack.Deliveries[0].DeliveryID != foreign || pack.Deliveries[0].Attempts[0].Address != "" {
				t.Errorf("%s: %+v", address, pack)
			}
		}
		rows, err := csv.NewReader(strings.NewReader(strings.Split(ops.want(200, "GET", "/ops/deliveries/evidence?as=csv&id="+second+"&id="+first, nil).text, "\n#")[0])).ReadAll()
		if err != nil || len(rows) != 3 || rows[1][2] != second || rows[2][2] != first || rows[2][5] != "'=tp_1" || rows[2][25] != "401" {
			t.Errorf("%v %v", rows, err)
		}
	})
}

func TestEvidenceSaysWhatItLeavesOut(t *testing.T) {
	h, ops, eve, _ := provingHouse(t, ledgertest.New(t, "sqlite"))
	for i := range proof.MaxDeliveries + 1 {
		if _, err := h.Append(t.Context(), ledgertest.NewEvent("acme", fmt.Sprint("tp_", i), "Pending")); err != nil {
			t.Fatal(err)
		}
	}
	page := ops.want(200, "GET", "/ops/deliveries/evidence?q=state:any+since:24h+partner:acme", nil, "200 deliveries at most", "0 were delivered and 200 were not. More was left out.", "thì chưa. Còn phần khác không đưa vào.", "未送达 200 条。还有内容未列入。")
	ofOperator := packIn(t, ops.want(200, "GET", "/ops/deliveries/evidence?q=state:any+since:24h+partner:acme&as=json", nil).text)
	if _, err := h.Append(t.Context(), ledgertest.NewEvent("acme", "tp_later", "Pending")); err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`https://pay.example.com(/portal/deliveries/evidence\?[^<]*)</pre>`).FindStringSubmatch(page.text)[1]
	file := eve.want(200, "GET", html.UnescapeString(link)+"&as=json", nil).text
	if same := packIn(t, file); !reflect.DeepEqual(same.Deliveries, ofOperator.Deliveries) {
		t.Errorf("%s shows other deliveries than those that were sealed", link)
	}
	if pack := ofOperator; pack.Bounds.Complete || pack.Bounds.Deliveries != proof.MaxDeliveries || len(pack.Deliveries) != proof.MaxDeliveries {
		t.Errorf("%d deliveries, %+v", len(pack.Deliveries), pack.Bounds)
	}
	eve.want(200, "POST", "/portal/verify", form("request", file), "The gateway&#39;s key confirms its data.")
}

// A reference whose delivery did not fit is not one that got nothing, and
// neither is one whose deliveries are past their retention.
func TestEvidenceCountsWhatItDoesNotHoldApart(t *testing.T) {
	h, ops, _, _ := provingHouse(t, ledgertest.New(t, "sqlite"))
	taken := refused401
	taken.Outcome, taken.ErrorClass, taken.StatusCode, taken.ErrorDetail = webhook.OutcomeDelivered, "", 200, strings.Repeat("…", 150)
	refs := []string{"nothing"}
	for i := range proof.MaxDeliveries - 2 {
		refs = append(refs, fmt.Sprint("tp_", i))
		h.sentOnce(t, "acme", refs[i+1], taken, webhook.Delivered)
	}
	refs = append(refs, "tp_old")
	old := h.sentOnce(t, "acme", "tp_old", taken, webhook.Delivered)
	for _, table := range []string{"attempts WHERE delivery_id", "deliveries WHERE id"} {
		if _, err := h.DB.Write.ExecContext(t.Context(), "DELETE FROM "+table+" = $1", old); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(as string) string {
		return ops.want(200, "POST", "/ops/reconcile/evidence", url.Values{"references": {strings.Join(refs, "\n")}, "partner": {"acme"}, "as": {as}}).text
	}
	pack := packIn(t, ask("json"))
	held, left := len(pack.Deliveries), proof.MaxDeliveries-2-len(pack.Deliveries)
	if left == 0 || held == 0 || pack.Bounds.Complete || pack.References[1].Found != "deliveries" || pack.References[len(refs)-2].Found != "left_out" || pack.References[len(refs)-1].Found != "past_retention" {
		t.Fatalf("%d are held and %d were left out: %+v", held, left, pack.References)
	}
	said := fmt.Sprintf("Of 200 references, %d have a notification that was delivered, and 1 have none. Of %d more this evidence cannot tell: what was sent was left out or is past its retention. More was left out.", held, left+1)
	if page := html.UnescapeString(ask("")); !strings.Contains(page, said) {
		t.Errorf("it does not say %q: %.3000s", said, page)
	}
	rows, err := csv.NewReader(strings.NewReader(strings.Split(ask("csv"), "\n#")[0])).ReadAll()
	if err != nil || len(rows) != 1+len(refs) {
		t.Fatalf("%d rows, want one of each reference: %v", len(rows), err)
	}
	for i, r := range pack.References {
		if row := rows[i+1]; row[0] != r.Reference || row[1] != r.Found {
			t.Errorf("%s, %s is the row %q", r.Reference, r.Found, row)
		}
	}
}

// An erasure empties answers, which does not mean that they were empty.
func TestEvidenceOfAnErasedEventTellsNothingOfItsAnswers(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		h, ops, _, _ := provingHouse(t, b)
		id := h.sentOnce(t, "acme", "tp_1", refused401, webhook.Exhausted)
		if _, done, err := h.Erase(t.Context(), partners.DataSubject{PartnerCode: "acme", CardID: "card_1"}, partners.AuditEntry{Actor: "dpo", Action: "erase", Detail: "asked"}); err != nil || !done {
			t.Fatal(done, err)
		}
		file := ops.want(200, "GET", "/ops/deliveries/"+id+"/evidence?as=json", nil).text
		d := packIn(t, file).Deliveries[0]
		if a := d.Attempts[0]; !d.Erased || a.StatusCode != 401 || strings.Contains(file, `"answerSha256"`) || strings.Contains(file, `"errorDetail"`) || strings.Contains(file, `"webhookSignature"`) || !strings.Contains(file, proof.NoteErased) {
			t.Errorf("%+v", d)
		}
		rows, err := csv.NewReader(strings.NewReader(strings.Split(ops.want(200, "GET", "/ops/deliveries/"+id+"/evidence?as=csv", nil).text, "\n#")[0])).ReadAll()
		if err != nil || rows[1][28] != "" || rows[1][29] != "" {
			t.Errorf("%v %v", rows, err)
		}
		ops.want(200, "GET", "/ops/deliveries/"+id+"/evidence", nil, proof.NoteErased)
	})
}

func TestEvidenceOfAReconciliationTellsWhatThePartnerMayKnow(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		h, ops, _, _ := provingHouse(t, b)
		mine := h.sentOnce(t, "acme", "tp_1", refused401, webhook.Exhausted)
		theirs := h.sentOnce(t, "globex", "tp_9", refused401, webhook.Exhausted)
		pasted := "tp_1\ntp_9 nothing"
		ops.want(200, "POST", "/ops/reconcile", form("references", "tp_1", "partner", ""), "Evidence for acme", `name="partner" value="acme"`)
		if page := ops.want(200, "POST", "/ops/reconcile", form("references", pasted)); strings.Contains(page.text, "Evidence for") {
			t.Error("evidence is offered for two partners")
		}
		ops.want(400, "POST", "/ops/reconcile/evidence", form("references", pasted))
		ops.want(400, "POST", "/ops/reconcile/evidence", form("references", pasted, "partner", "no code"))
		ops.want(404, "POST", "/ops/reconcile/evidence", form("references", pasted, "partner", "nobody"))
		ask := func(as string) answer {
			return ops.want(200, "POST", "/ops/reconcile/evidence", url.Values{"references": {pasted}, "partner": {"acme"}, "as": {as}})
		}
		pack := packIn(t, ask("json").text)
		var found []string
		for _, r := range pack.References {
			found = append(found, r.Reference+" "+r.Found)
		}
		if got := strings.Join(found, ", "); got != "tp_1 deliveries, tp_9 never_received, nothing never_received" || pack.PartnerCode != "acme" || len(pack.Deliveries) != 1 || pack.Deliveries[0].DeliveryID != mine {
			t.Errorf("%s, %+v", got, pack)
		}
		page, table := ask("").text, ask("csv").text
		if !strings.Contains(page, "Of 3 references, 0 have a notification that was delivered, and 3 have none. The evidence, with our signature: https://pay.example.com/portal/deliveries/evidence?id="+mine+"<") || !strings.Contains(page, `name="references"`) {
			t.Errorf("%.3000s", page)
		}
		for _, text := range []string{page, table} {
			if strings.Contains(text, theirs) || strings.Contains(text, "globex") || !strings.Contains(text, mine) {
				t.Errorf("%.3000s", text)
			}
		}
	})
}

func TestEvidenceIsTakenOnlyIfItCanBeNoted(t *testing.T) {
	h, ops, _, _ := provingHouse(t, ledgertest.New(t, "sqlite"))
	id := h.sentOnce(t, "acme", "tp_1", refused401, webhook.Exhausted)
	h.Unaudited(t, "evidence", func() {
		if page := ops.want(500, "GET", "/ops/deliveries/"+id+"/evidence", nil); strings.Contains(page.text, "93.184.216.34") {
			t.Error("it was shown")
		}
	})
}
