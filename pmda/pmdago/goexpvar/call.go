package goexpvar

import (
	"context"
	"errors"
	"expvar"
	"fmt"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A call is one of the program's code.
type call struct {
	done chan struct{} // closed at the end
	text string
	err  error
}

// errHangs is a call that has not returned in time.
var errHangs = fmt.Errorf("goexpvar: a call of the program's code takes too long: %w", pdu.ErrAgain)

// errText is a text that is no good.
var errText = errors.New("goexpvar: the text of a variable is not JSON, or too long")

// textOf is the text of a variable of any type. While a call of the same path
// has not returned there is no other.
func (e *exporter) textOf(ctx context.Context, path string, v expvar.Var) (string, error) {
	if c := e.calls[path]; c != nil {
		select {
		case <-c.done: // what it returned is old
		default:
			return "", errHangs
		}
	}
	if e.stuck() >= maxStuck {
		return "", errHangs
	}
	c := &call{done: make(chan struct{})}
	e.calls[path] = c
	go c.run(v)
	late := time.NewTimer(e.timeout)
	defer late.Stop()
	select {
	case <-c.done:
		delete(e.calls, path)
	case <-late.C:
		return "", errHangs
	case <-ctx.Done():
		return "", errHangs
	}
	if c.err == nil && len(c.text) > maxText {
		return "", errText
	}
	return c.text, c.err
}

// stuck is how many calls have not returned. It forgets the others.
func (e *exporter) stuck() int {
	for path, c := range e.calls {
		select {
		case <-c.done:
			delete(e.calls, path)
		default:
		}
	}
	return len(e.calls)
}

func (c *call) run(v expvar.Var) {
	defer close(c.done)
	defer func() {
		if p := recover(); p != nil {
			c.err = fmt.Errorf("goexpvar: panic: %v", p)
		}
	}()
	c.text = v.String()
}
