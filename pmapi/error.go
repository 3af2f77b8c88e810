package pmapi

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
)

// An OpError says which operation failed, where and on what. Err is or wraps a
// pdu.Error, the cause of a context.Context, or what the network reported.
type OpError struct {
	Op     string // "dial", "fetch", "lookup", …; "connect" if AutoReconnect finds no collector
	Host   string // the context's source, with the ports if any are named: "web1:44321"; empty before it is known
	Metric string // the metric, instance domain or instance; may be empty
	Err    error
}

// Error returns the operation, its subject, and the cause.
func (e *OpError) Error() string {
	var b strings.Builder
	b.WriteString("pmapi: " + e.Op)
	if e.Metric != "" {
		b.WriteString(" " + strconv.Quote(e.Metric))
	}
	switch {
	case e.Host == "":
	case e.Op == "connect":
		b.WriteString(" to " + e.Host)
	default:
		b.WriteString(" on " + e.Host)
	}
	b.WriteString(": " + e.Err.Error())
	return b.String()
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// Timeout reports whether a time-out ended the operation: that of a collector (pdu.ErrTimeout,
// ETIMEDOUT), of the network, or of the caller's context.Context.
func (e *OpError) Timeout() bool { return ctxwait.TimedOut(e.Err) }

// A BulkError is the error of a call for several items if some of them have failed. The results of
// the others are valid. The comment of each method names the value that stands for a missing
// result. errors.Is and errors.As look at the errors of all items.
type BulkError struct {
	// Errs has one element for each item, in their order: an *OpError if the item failed, otherwise
	// nil.
	Errs []error
}

// Error returns the text of the first error and the number of others.
func (e *BulkError) Error() string {
	failed := e.Unwrap()
	switch n := len(failed); n {
	case 0:
		return "pmapi: nothing has failed"
	case 1:
		return failed[0].Error()
	default:
		return fmt.Sprintf("%v (and %d more)", failed[0], n-1)
	}
}

// Unwrap returns the errors, without nil.
func (e *BulkError) Unwrap() []error {
	var failed []error
	for _, err := range e.Errs {
		if err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}

// ErrorAt returns the error of item i of a call for several items. If err is a *BulkError, this is
// an *OpError or nil; otherwise it is err itself.
func ErrorAt(err error, i int) error {
	if bulk, ok := errors.AsType[*BulkError](err); ok {
		return bulk.Errs[i]
	}
	return err
}

// fail wraps an error; nil stays nil.
func (c *Context) fail(op, about string, err error) error {
	if err == nil {
		return nil
	}
	if c.isClosed() && errors.Is(err, pdu.ErrNoContext) {
		err = errClosed{}
	}
	if lost, ok := err.(lostError); ok && lost.addr == "" { // nothing has been requested
		op, about = "connect", ""
	}
	return &OpError{Op: op, Host: c.name, Metric: about, Err: err}
}

// failItem is fail for the collector's error code about one item.
func (c *Context) failItem(op, about string, err error) error {
	if err == error(pdu.ErrTimeout) {
		err = agentTimeout{}
	}
	return c.fail(op, about, err)
}

// agentTimeout is pdu.ErrTimeout of one item: its agent has not replied, but the collector has. The
// text of the code would blame the collector.
type agentTimeout struct{}

func (agentTimeout) Error() string { return "the agent did not reply in time" }

func (agentTimeout) Unwrap() error { return pdu.ErrTimeout }

// errClosed is the error of requests after Close, and of those that Close has ended.
type errClosed struct{}

func (errClosed) Error() string { return "the context is closed: " + pdu.ErrNoContext.Error() }

func (errClosed) Unwrap() []error { return []error{pdu.ErrNoContext, net.ErrClosed} }

// bulkError returns the *BulkError of the failed items, or nil.
func (c *Context) bulkError(op string, errs source.Errors, about func(i int) string) error {
	var bulk *BulkError
	for i, err := range errs {
		if err == nil {
			continue
		}
		if bulk == nil {
			bulk = &BulkError{Errs: make([]error, len(errs))}
		}
		bulk.Errs[i] = c.failItem(op, about(i), err)
	}
	if bulk == nil {
		return nil
	}
	return bulk
}

// isTemporary reports whether a code is about the present state of an agent, so that a later
// request may succeed.
func isTemporary(code pdu.Error) bool {
	switch code {
	case pdu.ErrAgain, pdu.ErrTimeout, pdu.ErrIPC, pdu.ErrPMDANotReady, pdu.ErrPMDAFenced:
		return true
	}
	return false
}
