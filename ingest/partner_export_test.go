package ingest

// The rates that no partner can change, for tests.
var EmailRate, BadSignatureRate = emailRate, badSignatureRate
