// Package acceptance tests what the program promises as a whole.
//
// Its tests build the real binary, run it beside real stores and real
// receivers, kill what can be killed and look at the outside alone: the HTTP
// APIs, the requests that arrive at partners, the output and the exit code.
// Run them with -full for the sizes that the promises are made for.
package acceptance
