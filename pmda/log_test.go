package pmda_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// logLines is a log without times.
func logLines(b *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "stack" {
			return slog.Attr{}
		}
		return a
	}}))
}

func TestDefaultLogger(t *testing.T) {
	var own, first, second bytes.Buffer
	a := &pmda.Agent{Name: "a", Domain: 251}
	a.Log().Error("lost")
	h := pmda.Serial(struct{ *pmda.Agent }{a}) // also through what wraps it
	for _, l := range []*bytes.Buffer{&first, &second} {
		h.(interface{ DefaultLogger(*slog.Logger) }).DefaultLogger(logLines(l))
		a.Log().Error("x")
	}
	a.Logger = logLines(&own)
	a.DefaultLogger(logLines(&first))
	a.Log().Error("y")
	a.Logger = nil
	a.DefaultLogger(nil)
	a.Log().Error("lost")
	for _, tt := range []struct {
		log  *bytes.Buffer
		want string
	}{{&first, "level=ERROR msg=x\n"}, {&second, "level=ERROR msg=x\n"}, {&own, "level=ERROR msg=y\n"}} {
		if got := tt.log.String(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	// One without is none the worse.
	pmda.Serial(pmda.Unimplemented{}).(interface{ DefaultLogger(*slog.Logger) }).DefaultLogger(a.Log())
}

// TestDefaultLoggerServing sets the log of an agent that fails values meanwhile,
// for the race detector.
func TestDefaultLoggerServing(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	pmda.Register(a, pmda.Metric[int32]{Name: "a.bad",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) { return 0, errors.New("bad") }})
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 100 {
			a.DefaultLogger(slog.New(slog.DiscardHandler))
		}
	})
	for range 100 {
		fetched(t, a, request(), pdu.MakePMID(251, 0, 0))
	}
	wg.Wait()
}
