package remote

import (
	"fmt"

	"github.com/pcp-go/pcp/internal/ctxwait"
)

// An OpError is the error of New. It names the agent. The methods of an Agent return plain errors,
// because the caller knows which agent it called.
type OpError struct {
	Op    string // what failed: "version exchange"
	Agent string // the agent's name
	Err   error
}

// Error is like `remote: version exchange with agent "simple": EOF`.
func (e *OpError) Error() string {
	return fmt.Sprintf("remote: %s with agent %q: %v", e.Op, e.Agent, e.Err)
}

// Unwrap returns Err.
func (e *OpError) Unwrap() error { return e.Err }

// Timeout reports whether the agent did not do it in time.
func (e *OpError) Timeout() bool { return ctxwait.TimedOut(e.Err) }
