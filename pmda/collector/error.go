package collector

import (
	"errors"
	"fmt"

	"github.com/pcp-go/pcp/internal/ctxwait"
)

// An OpError says what has failed, and of which agent. All errors of a Server are
// one, or errors.Join of several.
type OpError struct {
	Op    string // "add", "start", "remove" or "stop" of an agent; "accept", "serve", "dial", "close"
	Agent string // the agent's name; empty if it is about none
	Err   error
}

// Error is like `collector: add agent "simple": domain 600 out of range (0..510)`.
func (e *OpError) Error() string {
	if e.Agent == "" {
		return fmt.Sprintf("collector: %s: %v", e.Op, e.Err)
	}
	return fmt.Sprintf("collector: %s agent %q: %v", e.Op, e.Agent, e.Err)
}

// Unwrap returns Err.
func (e *OpError) Unwrap() error { return e.Err }

// Timeout reports whether something was not done in time, such as a process that
// does not end or an agent that does not return.
func (e *OpError) Timeout() bool { return ctxwait.TimedOut(e.Err) }

// A notEnded is something that did not end in time.
type notEnded string

func (e notEnded) Error() string { return string(e) }

func (notEnded) Timeout() bool { return true }

// opError is the error of an operation; nil stays nil.
func opError(op, agent string, err error) error {
	if err == nil {
		return nil
	}
	return &OpError{Op: op, Agent: agent, Err: err}
}

// errClosed is why nothing is started any more.
var errClosed = errors.New("the server is closed")

// errServedTwice is why a second Serve fails.
var errServedTwice = errors.New("the server serves already, or has served: make another Server, or give all listeners to one call")

var errLateAccess = errors.New("Server.Access was changed after a method call: set it before, or call SetAccess")
