package local_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/local"
	"github.com/pcp-go/pcp/pmda"
)

// A watched agent records the calls of its methods.
type watched struct {
	pmda.Handler
	mu     sync.Mutex
	events []string
}

func (w *watched) Unwrap() pmda.Handler { return w.Handler }

func (w *watched) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, fmt.Sprintf(format, args...))
}

// take returns the events since the last call.
func (w *watched) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.events = nil }()
	return slices.Clone(w.events)
}

func (w *watched) SetClient(c *pmda.Client) {
	w.note("client %d", c.Seq)
	w.Handler.SetClient(c)
}

func (w *watched) EndClient(c *pmda.Client) {
	w.note("end %d", c.Seq)
	w.Handler.EndClient(c)
}

func (w *watched) BeginServing(*slog.Logger) func() {
	w.note("serving")
	return func() { w.note("served") }
}

func (w *watched) WhenReady() <-chan struct{} {
	s, _ := pmda.As[pmda.Serving](w.Handler)
	return s.WhenReady()
}

func (w *watched) Store(ctx context.Context, r *pmda.Request, values *pdu.Result) error {
	for _, s := range values.All() {
		w.note("store %v, %d values", s.PMID, s.Len())
	}
	return w.Handler.Store(ctx, r, values)
}

// newAgent returns an agent with the metrics NAME.one, NAME.two, which can be stored, and
// NAME.many, which has instances, and with a dynamic subtree NAME.deep.
func newAgent(t testing.TB, name string, d pdu.Domain) *watched {
	t.Helper()
	a := &pmda.Agent{Name: name, Domain: d, DomainLabels: `{"colour":"red"}`, Logger: slog.New(slog.DiscardHandler)}
	in := a.AddInDom("many", "a", "b one", "c")
	in.Text = "Letters"
	in.InstanceLabels = func(i pdu.Instance) string { return fmt.Sprintf(`{"n":%d}`, i.ID) }
	value := func(v int64) func(context.Context, *pmda.Request, pdu.Instance) (int64, error) {
		return func(_ context.Context, _ *pmda.Request, i pdu.Instance) (int64, error) {
			return v + int64(max(i.ID, 0)), nil
		}
	}
	var mu sync.Mutex
	two := int64(2)
	pmda.Register(a, pmda.Metric[int64]{Name: name + ".one", ID: pmda.Item(0, 1), Text: "The first", Value: value(1)})
	pmda.Register(a, pmda.Metric[int64]{
		Name: name + ".two", ID: pmda.Item(0, 2), Text: "The second", Help: "It can be set.",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (int64, error) {
			mu.Lock()
			defer mu.Unlock()
			return two, nil
		},
		Store: func(_ context.Context, _ *pmda.Request, _ pdu.Instance, v int64) error {
			mu.Lock()
			defer mu.Unlock()
			two = v
			return nil
		},
	})
	pmda.Register(a, pmda.Metric[int64]{Name: name + ".many", ID: pmda.Item(0, 3), InDom: in, Value: value(10)})
	if err := a.AddDynamic(name + ".deep"); err != nil {
		t.Fatal(err)
	}
	pmda.Register(a, pmda.Metric[int64]{Name: name + ".deep.down.x", ID: pmda.Item(1, 1), Value: value(100)})
	pmda.Register(a, pmda.Metric[int64]{Name: name + ".deep.y", ID: pmda.Item(1, 2), Value: value(200)})
	if err := a.Err(); err != nil {
		t.Fatal(err)
	}
	return &watched{Handler: a}
}

func open(t testing.TB, a *local.Agents) *pmapi.Context {
	t.Helper()
	pc, err := a.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pc.Close() })
	return pc
}
