// Package browsertest looks at the pages of a whole running gateway with a
// real browser, as operators and partners do. It holds tests alone.
package browsertest
