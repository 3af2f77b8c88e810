package collector

import (
	"errors"
	"fmt"

	"github.com/pcp-go/pcp/internal/ctxwait"
)

// An OpError is the error of an operation of a Server. Methods of a Server return an OpError or
// errors.Join of several, except that DialContext may return the error of its context and the Write
// methods return that of the writer.
type OpError struct {
	// Op is "add", "start", "remove" or "stop" for an agent; otherwise "accept", "serve", "dial",
	// "close", "run as root" or "copy listener".
	Op    string
	Agent string // the name of the agent or of the command to run as root, or empty
	Err   error
}

// Error returns a text like `collector: add agent "simple": domain 600 out of range (0..510)`.
func (e *OpError) Error() string {
	if e.Agent == "" {
		return fmt.Sprintf("collector: %s: %v", e.Op, e.Err)
	}
	return fmt.Sprintf("collector: %s agent %q: %v", e.Op, e.Agent, e.Err)
}

// Unwrap returns Err.
func (e *OpError) Unwrap() error { return e.Err }

// Timeout reports whether the operation took too long, for example to end a process.
func (e *OpError) Timeout() bool { return ctxwait.TimedOut(e.Err) }

// notEnded is the error of something that did not end in time.
type notEnded string

func (e notEnded) Error() string { return string(e) }

func (notEnded) Timeout() bool { return true }

// opError returns an OpError, or nil if err is nil.
func opError(op, agent string, err error) error {
	if err == nil {
		return nil
	}
	return &OpError{Op: op, Agent: agent, Err: err}
}

// errClosed is the error of operations after Close.
var errClosed = errors.New("the server is closed")

// errServedTwice is the error of a second Serve.
var errServedTwice = errors.New("the server serves already, or has served: make another Server, or give all listeners to one call")

var errLateAccess = errors.New("Server.Access was changed after a method call: set it before, or call SetAccess")
