package main

import (
	"encoding/json"
	"testing"
	"time"
)

func TestATokenIsMadeForSomeDaysAndPrintedOnce(t *testing.T) {
	s := newServer(t, map[string][]string{
		"POST /internal/v1/tokens":              {`201 {"tokenId":"tok_1","name":"billing","token":"lht_value","prefix":"lht_va","scopes":["ingest","read"],"state":"active","expiresAt":"2027-01-02T03:04:05Z"}`},
		"POST /internal/v1/tokens/tok_1/revoke": {`200 {}`},
	})
	before := time.Now()
	got := run(t, s.env(), "", "token", "create", "billing", "--scopes", "ingest,read", "--days", "30")
	got.has(t, exitOK, "keep the token now, it is not shown again")
	if want := "token id  tok_1\ntoken     lht_value\nscopes    ingest,read\nexpires   2027-01-02 03:04:05\n"; got.out != want {
		t.Errorf("printed %q, want %q", got.out, want)
	}
	var body struct {
		Name      string
		Scopes    []string
		ExpiresAt time.Time
	}
	if err := json.Unmarshal([]byte(s.last(t).body), &body); err != nil {
		t.Fatal(err)
	}
	earliest, latest := before.AddDate(0, 0, 30).Add(-time.Second), time.Now().AddDate(0, 0, 30)
	if body.Name != "billing" || len(body.Scopes) != 2 || body.ExpiresAt.Before(earliest) || body.ExpiresAt.After(latest) {
		t.Errorf("asked for %+v, want an end between %s and %s", body, earliest, latest)
	}
	run(t, s.env(), "", "token", "revoke", "tok_1").has(t, exitOK, "token tok_1 is revoked")
	if line := s.last(t).line; line != "POST /internal/v1/tokens/tok_1/revoke" {
		t.Errorf("asked %s", line)
	}
}
