package pmda

import (
	"strconv"

	"github.com/pcp-go/pcp/internal/timeout"
)

// An OpError says which operation of an agent failed, on what, and why.
type OpError struct {
	Op    string // such as "register", "attach instance domain" or "remove"
	Agent string // the agent's name; empty if it is not known
	Name  string // of the metric, dynamic root or instance domain; empty if there is none
	Err   error
}

// Error is the text of the error, such as
// `pmda: agent cache: register "cache.hits": the name is in use`.
func (e *OpError) Error() string {
	s := "pmda: "
	if e.Agent != "" {
		s += "agent " + e.Agent + ": "
	}
	s += e.Op
	if e.Name != "" {
		s += " " + strconv.Quote(e.Name)
	}
	return s + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// Timeout reports whether the cause is a time-out.
func (e *OpError) Timeout() bool { return timeout.Is(e.Err) }
