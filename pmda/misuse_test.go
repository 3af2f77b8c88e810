package pmda_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pmda"
)

// TestNilAgent checks that functions refuse nil arguments.
func TestNilAgent(t *testing.T) {
	var none *pmda.Agent
	a := &pmda.Agent{Name: "a", Domain: 251}
	wrapped := &pmda.Agent{Name: "w", Domain: 251}
	wrapped.Use(func(pmda.Handler) pmda.Handler { return nil })
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"Err", none.Err(), "pmda: serve: the *Agent is nil"},
		{"Serve", pmda.Serve(t.Context(), none, new(bytes.Buffer)), "pmda: serve: the *Agent is nil"},
		{"Serve nothing", pmda.Serve(t.Context(), nil, new(bytes.Buffer)), "pmda: serve: the Handler is nil"},
		{"Register", pmda.Register(none, pmda.Metric[int32]{Name: "a.b"}), `pmda: register "a.b": the *Agent is nil`},
		{"Attach", a.Attach(nil), "pmda: agent a: attach instance domain: the *InDom is nil"},
		{"Use", wrapped.Err(), "pmda: agent w: use a wrapper: it is nil: return a Handler that embeds the one given"},
	} {
		if op, ok := errors.AsType[*pmda.OpError](tt.err); ok && op.Site != "" {
			tt.want += " (" + op.Site + ")"
		}
		if tt.err == nil || tt.err.Error() != tt.want {
			t.Errorf("%s: error %v, want %s", tt.name, tt.err, tt.want)
		}
	}
	var stderr bytes.Buffer
	if status := new(pmda.Daemon).Run(context.Background(), []string{"pmdanone"}, strings.NewReader(""), new(bytes.Buffer), &stderr); status != 1 {
		t.Errorf("Daemon without an Agent: exit status %d", status)
	}
	if !strings.Contains(stderr.String(), "the *Agent is nil") {
		t.Errorf("Daemon without an Agent: %q", stderr.String())
	}
}
