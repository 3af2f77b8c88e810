package expvars

import (
	"context"
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// The limits of calls.
const (
	CallTimeout = 250 * time.Millisecond // of a call of the program's code
	MaxStuck    = 16                     // calls that have not returned; then no others are made
	MaxText     = 1 << 20                // bytes of the text of a variable
)

// Calls are calls of the program's code: of variables whose types are not expvar's own. One
// goroutine at a time may use them.
type Calls struct {
	Timeout time.Duration    // how long a call is waited for; 0: CallTimeout
	running map[string]*call // that have not returned, by path
}

// A call is one of the program's code.
type call struct {
	done chan struct{} // closed at the end
	late time.Time     // when it is waited for no longer
	text string
	err  error
}

// ErrHangs is a call that has not returned in time.
var ErrHangs = fmt.Errorf("expvar: a call of the program's code takes too long: %w", pdu.ErrAgain)

// ErrText means that the text of a variable cannot be used.
var ErrText = errors.New("expvar: the text of a variable is not JSON, or too long")

// Value returns the value of a variable of any type, parsed from its JSON text, with numbers as
// json.Number. The path identifies the variable: Value does not start a second call of a path
// before the first has returned.
func (c *Calls) Value(ctx context.Context, path string, v expvar.Var) (any, error) {
	text, err := c.text(ctx, path, v)
	if err != nil {
		return nil, err
	}
	return parse(text)
}

func (c *Calls) text(ctx context.Context, path string, v expvar.Var) (string, error) {
	if c.running == nil {
		c.running = map[string]*call{}
	}
	// Wait for the call of an abandoned request, which may have begun just now. Its value is old,
	// so discard it.
	if old := c.running[path]; old != nil && !old.wait(ctx) {
		return "", ErrHangs
	}
	if c.Stuck() >= MaxStuck {
		return "", ErrHangs
	}
	timeout := c.Timeout
	if timeout == 0 {
		timeout = CallTimeout
	}
	k := &call{done: make(chan struct{}), late: time.Now().Add(timeout)}
	c.running[path] = k
	go k.run(v)
	if !k.wait(ctx) {
		return "", ErrHangs
	}
	delete(c.running, path)
	if k.err == nil && len(k.text) > MaxText {
		return "", ErrText
	}
	return k.text, k.err
}

// wait waits for the end of a call, false if that does not come in time.
func (k *call) wait(ctx context.Context) bool {
	select {
	case <-k.done:
		return true
	default:
	}
	late := time.NewTimer(time.Until(k.late))
	defer late.Stop()
	select {
	case <-k.done:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}

// Stuck is how many calls have not returned. It forgets the others.
func (c *Calls) Stuck() int {
	for path, k := range c.running {
		select {
		case <-k.done:
			delete(c.running, path)
		default:
		}
	}
	return len(c.running)
}

func (k *call) run(v expvar.Var) {
	defer close(k.done)
	defer func() {
		if p := recover(); p != nil {
			k.err = fmt.Errorf("expvar: panic: %v", p)
		}
	}()
	k.text = v.String()
}

// parse reads a text, all of it.
func parse(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // one that is out of range shall not spoil the rest
	var doc any
	if err := d.Decode(&doc); err != nil {
		return nil, ErrText
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, ErrText
	}
	return doc, nil
}
