package app

import (
	"testing"

	"ledgerhook/config"
	"ledgerhook/ingest"
)

func TestWithNothingSetTheTermsAreThoseOfTheInterface(t *testing.T) {
	cfg, err := config.Load("", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := terms(cfg); got != ingest.DefaultTerms {
		t.Errorf("%+v, want %+v", got, ingest.DefaultTerms)
	}
}
