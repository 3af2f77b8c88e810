package pmapi_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
	"github.com/pcp-go/pcp/pmda/collector"
)

// A nil argument that is not allowed panics with its name, not as a nil pointer.
func TestNilPanics(t *testing.T) {
	c := new(pmapitest.Source).Context()
	var noContext context.Context
	const noGroup = `pmapi: "a.b" is added to a nil *Group: make one with Context.Group`
	for name, tt := range map[string]struct {
		f    func()
		want string
	}{
		"Add":       {func() { pmapi.Add[int32](nil, "a.b") }, noGroup},
		"AddSet":    {func() { pmapi.AddSet[int32](nil, "a.b") }, noGroup},
		"AddEvents": {func() { pmapi.AddEvents[int32](nil, "a.b", "a.c") }, noGroup},
		"Store":     {func() { _ = c.Store(noContext, "a.b", 5) }, "pmapi: the context.Context is nil"},
	} {
		func() {
			defer func() {
				if got := recover(); got != tt.want {
					t.Errorf("%s: panic %v, want %s", name, got, tt.want)
				}
			}()
			tt.f()
		}()
	}
}

func TestLocalOfNil(t *testing.T) {
	const want = "pmapi: dial on local: the ContextDialer is nil, want a collector.Server: Bad value for function argument"
	for _, srv := range []pmapi.ContextDialer{nil, (*collector.Server)(nil), pmapi.ContextDialer((*net.Dialer)(nil))} {
		c, err := pmapi.Local(t.Context(), srv)
		if c != nil || !errors.Is(err, pdu.ErrArg) || err.Error() != want {
			t.Errorf("%T: %v, %v, want %s", srv, c, err, want)
		}
	}
}

func TestEmptyGroup(t *testing.T) {
	_, err := new(pmapitest.Source).Context().Group().Fetch(t.Context())
	const want = "pmapi: fetch on pmapitest: the group has no metrics: Insufficient elements in list"
	if !errors.Is(err, pdu.ErrTooSmall) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// The error of a first rate, of an item and of an instance of a set, says that two samples are
// needed. The error of a metric that is not available at present does not.
func TestFirstRateError(t *testing.T) {
	src := &pmapitest.Source{Start: time.Unix(1e9, 0)}
	m := pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "reads", InDom: src.InDom("sda"), Sem: pdu.SemCounter})
	m.Set(5)
	g := src.Context().Group()
	item, set := pmapi.Add[float64](g, "reads", pmapi.Instance("sda")), pmapi.AddSet[float64](g, "reads")
	check := func(want string) {
		t.Helper()
		if _, err := g.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := item.Err(); !errors.Is(err, pdu.ErrAgain) || err.Error() != want {
			t.Errorf("item: %v, want %s", err, want)
		}
	}
	const rate = `pmapi: fetch "reads[sda]" on pmapitest: a rate takes two samples: Try again. Information not currently available`
	check(rate)
	if _, _, err := set.At(0); !errors.Is(err, pdu.ErrAgain) || err.Error() != rate {
		t.Errorf("set: %v, want %s", err, rate)
	}
	m.Fail(pdu.ErrAgain)
	check(`pmapi: fetch "reads[sda]" on pmapitest: Try again. Information not currently available`)
}
