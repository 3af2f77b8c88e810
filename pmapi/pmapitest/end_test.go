package pmapitest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// rounds runs Every on an item of a source until it ends, or for 20 rounds. It returns the second
// since noon and the error of each round.
func rounds(t *testing.T, src *pmapitest.Source, g *pmapi.Group) (all []string) {
	t.Helper()
	for now, err := range g.Every(t.Context(), time.Second) {
		how := "ok"
		switch gap, _ := errors.AsType[*pmapi.Gap](err); {
		case gap != nil:
			how = fmt.Sprintf("gap of %v", gap.Restored.Sub(gap.Lost))
		case err != nil:
			how = pdu.FromError(err).Error()
		}
		all = append(all, fmt.Sprintf("%.0f %s", now.Sub(noon).Seconds(), how))
		if len(all) == 20 {
			t.Errorf("Every has not ended: %q", all)
			break
		}
	}
	return all
}

// TestEndWins: Every ends at End despite any fault.
func TestEndWins(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault func(*pmapitest.Source)
	}{
		{"none", func(*pmapitest.Source) {}},
		{"broken", func(s *pmapitest.Source) { s.Break(nil) }},
		{"broken later", func(s *pmapitest.Source) { s.BreakAt(noon.Add(time.Second), noon.Add(time.Hour)) }},
		{"fetches fail", func(s *pmapitest.Source) { s.FailFetch(pdu.ErrPermission) }},
		{"requests fail", func(s *pmapitest.Source) {
			s.OnRequest = func(context.Context, pmapitest.Request) error { return pdu.ErrTimeout }
		}},
		{"instances fail", func(s *pmapitest.Source) {
			s.OnRequest = func(_ context.Context, r pmapitest.Request) error {
				if r.Method == "Instances" {
					return errors.New("no instances")
				}
				return nil
			}
		}},
	} {
		for _, reconnects := range []bool{false, true} {
			for _, metric := range []string{"size", "reads", "misspelt"} {
				t.Run(fmt.Sprint(tt.name, reconnects, metric), func(t *testing.T) {
					src := &pmapitest.Source{Start: noon, End: noon.Add(3 * time.Second), AutoReconnect: reconnects}
					pmapitest.Add(src, pmapitest.Metric[uint32]{Name: "size"}).Set(7)
					pmapitest.Add(src, pmapitest.Metric[uint32]{Name: "reads", InDom: src.InDom("sda")}).Set(7)
					tt.fault(src)
					g := src.Context().Group()
					var opts []pmapi.ItemOption
					if metric == "reads" {
						opts = append(opts, pmapi.Instance("sdb")) // it is looked up again and again
					}
					pmapi.Add[uint32](g, metric, opts...)
					if got := rounds(t, src, g); len(got) != 4 {
						t.Errorf("rounds %q, want 4", got)
					}
					if _, err := g.Fetch(t.Context()); !errors.Is(err, pdu.ErrEOL) {
						t.Errorf("after the end: %v", err)
					}
				})
			}
		}
	}
}

// TestBreakAt: connections are lost and restored at given times, of the source or of package time.
func TestBreakAt(t *testing.T) {
	const lost = "IPC protocol failure"
	for _, tt := range []struct {
		reconnects bool
		want       []string
	}{
		{true, []string{"0 ok", "1 ok", "2 " + lost, "3 " + lost, "4 gap of 2s", "5 ok", "6 ok", "7 " + lost, "8 gap of 1.5s", "9 ok"}},
		{false, []string{"0 ok", "1 ok", "2 " + lost, "3 " + lost, "4 " + lost, "5 " + lost, "6 " + lost, "7 " + lost, "8 " + lost, "9 " + lost}},
	} {
		src := &pmapitest.Source{Start: noon, End: noon.Add(9 * time.Second), AutoReconnect: tt.reconnects}
		pmapitest.Add(src, pmapitest.Metric[uint32]{Name: "size"}).Set(7)
		at := func(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }
		src.BreakAt(at(6.5), at(6.7)) // no request notices it until 7
		src.BreakAt(at(2), at(4))
		fetches := 0
		src.OnRequest = func(_ context.Context, r pmapitest.Request) error {
			if s := src.Now().Sub(noon); r.Method == "Fetch" && s > 2*time.Second && s < 4*time.Second {
				fetches++
			}
			return nil
		}
		c := src.Context()
		g := c.Group()
		pmapi.Add[uint32](g, "size")
		if got := rounds(t, src, g); !slices.Equal(got, tt.want) {
			t.Errorf("AutoReconnect %v:\n got %q\nwant %q", tt.reconnects, got, tt.want)
		}
		if fetches > 0 {
			t.Errorf("%d fetches while the connection was broken", fetches)
		}
	}

	synctest.Test(t, func(t *testing.T) {
		src := new(pmapitest.Source)
		src.BreakAt(time.Now().Add(time.Second), time.Now().Add(3*time.Second))
		c := src.Context()
		for second, broken := range []bool{false, true, true, false} {
			if err := c.Reconnect(t.Context()); broken != errors.Is(err, pdu.ErrIPC) {
				t.Errorf("Reconnect at second %d: %v", second, err)
			}
			if d, err := c.Dup(t.Context()); broken != errors.Is(err, pdu.ErrIPC) {
				t.Errorf("Dup at second %d: %v, %v", second, d, err)
			}
			time.Sleep(time.Second)
		}
	})

	defer func() {
		if got := recover(); got != "pmapitest: BreakAt: until is not after from" {
			t.Errorf("panic %v", got)
		}
	}()
	new(pmapitest.Source).BreakAt(noon, noon)
}
