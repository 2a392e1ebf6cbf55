// Package pages measures every page over a full ledger. It holds tests alone.
package pages
