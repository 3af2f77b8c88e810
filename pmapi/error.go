package pmapi

import (
	"strconv"
	"strings"
)

// An OpError says which operation failed, where and on what. Err is or wraps a
// pdu.Error, the cause of a context.Context, or what the network reported.
type OpError struct {
	Op     string // "dial", "fetch", "lookup", …
	Host   string // the context's source; empty if there is none yet
	Metric string // a metric, an instance domain or an instance; empty if it is about none
	Err    error
}

// Error is the operation, what it was about, and the cause.
func (e *OpError) Error() string {
	var b strings.Builder
	b.WriteString("pmapi: " + e.Op)
	if e.Metric != "" {
		b.WriteString(" " + strconv.Quote(e.Metric))
	}
	if e.Host != "" {
		b.WriteString(" on " + e.Host)
	}
	b.WriteString(": " + e.Err.Error())
	return b.String()
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }
