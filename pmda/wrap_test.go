package pmda_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// descCounter overrides one method of a Handler and embeds the others.
type descCounter struct {
	pmda.Handler
	descs *int
}

func (c descCounter) Desc(ctx context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	*c.descs++
	return c.Handler.Desc(ctx, r, id)
}

// unwrapping is a wrapper of which As finds the inside.
type unwrapping struct{ descCounter }

func (u unwrapping) Unwrap() pmda.Handler { return u.Handler }

// TestWrapper: a struct that embeds a Handler loses nothing that matters.
func TestWrapper(t *testing.T) {
	newAgent := func() *pmda.Agent {
		a := &pmda.Agent{Name: "a", Domain: 251, ClientAttributes: true}
		register(t, a, pmda.Metric[int32]{Name: "a.x", Text: "line", Value: always[int32](1)})
		return a
	}
	for name, wrap := range map[string]func(descCounter) pmda.Handler{
		"without Unwrap": func(c descCounter) pmda.Handler { return c },
		"with Unwrap":    func(c descCounter) pmda.Handler { return unwrapping{c} },
		"twice":          func(c descCounter) pmda.Handler { return descCounter{unwrapping{c}, new(int)} },
		"serial":         func(c descCounter) pmda.Handler { return pmda.Serial(unwrapping{c}) },
	} {
		t.Run(name, func(t *testing.T) {
			a, descs := newAgent(), 0
			h := wrap(descCounter{pmda.Serial(a), &descs})
			pmdatest.Run(t, h, pmdatest.Texts())
			if descs == 0 {
				t.Error("the wrapper is not called")
			}
			if h.Namespace() != a.Namespace() || h.Info() != a.Info() {
				t.Error("the name space or Info are not the Agent's")
			}
			p := serve(t.Context(), t, h)
			if p.features == 0 {
				t.Error("no attributes are asked for")
			}
			p.end()
			pmda.Register(a, pmda.Metric[int32]{Name: "a.x", Value: always[int32](1)})
			if err := pmda.Serve(t.Context(), h, new(bytes.Buffer)); err == nil || !errors.Is(err, a.Err()) {
				t.Errorf("Serve with a failed registration: %v, want %v", err, a.Err())
			}
		})
	}
}

func TestAs(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	c := descCounter{a, new(int)}
	if got, ok := pmda.As[*pmda.Agent](a); got != a || !ok {
		t.Errorf("the Handler itself: %v, %v", got, ok)
	}
	if got, ok := pmda.As[*pmda.Agent](pmda.Serial(unwrapping{c})); got != a || !ok {
		t.Errorf("inside two wrappers: %v, %v", got, ok)
	}
	if got, ok := pmda.As[*pmda.Agent](c); got != nil || ok {
		t.Errorf("inside a wrapper without Unwrap: %v, %v", got, ok)
	}
	if got, ok := pmda.As[pmda.Logging](pmda.Unimplemented{}); got != nil || ok {
		t.Errorf("no Logging: %v, %v", got, ok)
	}
}
