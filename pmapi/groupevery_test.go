package pmapi_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// timed returns a group with one metric. Each fetch takes the next of the given times, and later
// fetches take no time. If limit is greater than 0, a fetch that takes longer times out.
func timed(limit time.Duration, takes ...time.Duration) *pmapi.Group {
	g, _ := timedContext(limit, takes...)
	return g
}

// timedContext is like timed, and also returns the group's context.
func timedContext(limit time.Duration, takes ...time.Duration) (*pmapi.Group, *pmapi.Context) {
	src := &pmapitest.Source{OnRequest: func(ctx context.Context, r pmapitest.Request) error {
		if r.Method != "Fetch" || len(takes) == 0 {
			return nil
		}
		take := takes[0]
		takes = takes[1:]
		late := limit > 0 && take > limit
		if late {
			take = limit
		}
		select {
		case <-time.After(take):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if late {
			return pdu.ErrTimeout
		}
		return nil
	}}
	pmapitest.Add(src, pmapitest.Metric[uint32]{Name: "fetches"}).Set(1)
	c := src.Context()
	g := c.Group()
	pmapi.Add[uint32](g, "fetches")
	return g, c
}

// Fetches are at multiples of the interval, and those that are missed are left out.
func TestEvery(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name     string
		interval time.Duration
		fetches  []time.Duration // how long they take
		body     []time.Duration // how long the caller takes with each
		want     []time.Duration // when the values are there
	}{
		{"at once", s, nil, []time.Duration{0, 0, 0}, []time.Duration{0, s, 2 * s}},
		{"without drift", s, []time.Duration{s / 4, s / 2, s / 8}, []time.Duration{s / 4, s / 2, s / 2, 0},
			[]time.Duration{s / 4, s + s/2, 2*s + s/8, 3 * s}},
		{"a long fetch", s, []time.Duration{0, 5 * s / 2}, []time.Duration{0, 0, 0, 0},
			[]time.Duration{0, s + 5*s/2, 4 * s, 5 * s}},
		{"a long body", s, nil, []time.Duration{0, 3*s + 1, 0, 0}, []time.Duration{0, s, 5 * s, 6 * s}},
		{"just in time", s, []time.Duration{s}, []time.Duration{0, s, s}, []time.Duration{s, s, 2 * s}},
		{"without a pause", 0, []time.Duration{1, 2, 3}, []time.Duration{0, 5, 0}, []time.Duration{1, 3, 11}},
		{"an interval that cannot be", -s, []time.Duration{1, 2, 3}, []time.Duration{0, 5, 0}, []time.Duration{1, 3, 11}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := timed(0, tt.fetches...)
				began := time.Now()
				var got []time.Duration
				for now, err := range g.Every(t.Context(), tt.interval) {
					if err != nil || now.After(time.Now()) || now.Before(began) {
						t.Fatal(now, err)
					}
					got = append(got, time.Since(began))
					time.Sleep(tt.body[len(got)-1])
					if len(got) == len(tt.body) {
						break
					}
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("when (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// The end of ctx ends the loop without an error, in a pause and in a fetch.
func TestEveryEnds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after time.Duration
		want  int
	}{{"before", 0, 0}, {"in a pause", 2500 * time.Millisecond, 3}, {"in a fetch", 4500 * time.Millisecond, 4}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := timed(0, 0, 0, 0, 0, time.Second)
				ctx, cancel := context.WithTimeout(t.Context(), tt.after)
				defer cancel()
				began, n := time.Now(), 0
				for _, err := range g.Every(ctx, time.Second) {
					if n++; err != nil {
						t.Error(err)
					}
				}
				if d := time.Since(began); n != tt.want || d != tt.after {
					t.Errorf("%d fetches, in %v; want %d in %v", n, d, tt.want, tt.after)
				}
			})
		})
	}
}

// An error is yielded, and the loop goes on.
func TestEveryFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := timed(time.Second, 0, 3*time.Second/2)
		nothing := pmapi.Add[uint32](g, "nothing") // an error of its item alone
		var errs []error
		began := time.Now()
		for _, err := range g.Every(t.Context(), 3*time.Second) {
			if errs = append(errs, err); len(errs) == 4 {
				break
			}
		}
		codes := []pdu.Error{0, pdu.ErrTimeout, 0, 0}
		if !slices.EqualFunc(errs, codes, func(err error, code pdu.Error) bool { return pdu.FromError(err) == code }) {
			t.Errorf("errors %v, want %v", errs, codes)
		}
		if d := time.Since(began); d != 9*time.Second {
			t.Errorf("took %v", d)
		}
		is(t, nothing, 0, pdu.ErrName)
	})
}

// A gap is yielded too.
func TestEveryGap(t *testing.T) {
	s := newGroupFixture(t, true)
	g := s.c.Group()
	size := pmapi.Add[uint64](g, "size", pmapi.Scale("instant"))
	began := s.src.Now()
	var gaps, broken, good int
	n := 0
	for _, err := range g.Every(t.Context(), time.Second) {
		var gap *pmapi.Gap
		switch {
		case errors.As(err, &gap):
			gaps++
		case err != nil:
			broken++
		default:
			is(t, size, 1<<20, 0)
			good++
		}
		if n++; n == 2 {
			s.cut()
		}
		if n == 6 {
			break
		}
	}
	if d := s.src.Now().Sub(began); d != 5*time.Second {
		t.Errorf("six fetches in %v", d)
	}
	if gaps != 1 || broken != 1 || good != 4 {
		t.Errorf("%d gaps, %d errors, %d good", gaps, broken, good)
	}
}

// The loop ends without an error when the source has no more values.
func TestEveryAtTheEnd(t *testing.T) {
	start := time.Unix(1e9, 0)
	src := &pmapitest.Source{Start: start, End: start.Add(time.Minute)}
	pmapitest.Add(src, pmapitest.Metric[uint32]{Name: "a"}).Set(1)
	g := src.Context().Group()
	pmapi.Add[uint32](g, "a")
	var last time.Time
	n := 0
	for now, err := range g.Every(t.Context(), 10*time.Second) {
		if err != nil {
			t.Error(err)
		}
		last = now
		n++
	}
	if n != 7 || !last.Equal(src.End) {
		t.Errorf("%d fetches, the last at %v", n, last)
	}
	if _, err := g.Fetch(t.Context()); !errors.Is(err, pdu.ErrEOL) {
		t.Error(err)
	}
}

// Close ends the loop at once with one error: before the loop, in a pause, in a fetch and in the
// body.
func TestEveryClosed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		after  time.Duration
		inBody bool // not while the loop waits
		want   int  // fetches without an error
	}{
		{"before", 0, false, 0},
		{"in a pause", 2500 * time.Millisecond, false, 3},
		{"in a fetch", 4500 * time.Millisecond, false, 4},
		{"in the body", 2 * time.Second, true, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, c := timedContext(0, 0, 0, 0, 0, time.Second)
				began := time.Now()
				if tt.after == 0 {
					c.Close()
				} else {
					if !tt.inBody {
						time.AfterFunc(tt.after, func() { c.Close() })
					}
					defer func() {
						if d := time.Since(began); d != tt.after {
							t.Errorf("took %v, want %v", d, tt.after)
						}
					}()
				}
				var errs []error
				n := 0
				for _, err := range g.Every(t.Context(), time.Second) {
					if n++; err != nil {
						errs = append(errs, err)
					}
					if tt.inBody && time.Since(began) == tt.after {
						c.Close()
					}
				}
				if n != tt.want+1 || len(errs) != 1 {
					t.Fatalf("%d fetches, errors %v; want %d and one error", n, errs, tt.want+1)
				}
				wantClosed(t, errs[0])
			})
		})
	}
}

// wantClosed checks an error of a context that is closed.
func wantClosed(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, net.ErrClosed) || !errors.Is(err, pdu.ErrNoContext) || pdu.FromError(err) != pdu.ErrNoContext ||
		!strings.HasSuffix(err.Error(), ": the context is closed: Attempt to use an illegal context") {
		t.Errorf("error %v, want one of a context that is closed", err)
	}
}

// The same holds for a context on a collector; and one whose connection is lost is not closed.
func TestEveryClosedHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := openShop()
		defer srv.Close()
		c, err := pmapi.Local(t.Context(), srv)
		if err != nil {
			t.Fatal(err)
		}
		g := c.Group()
		sold := pmapi.AddSet[uint64](g, "shop.sold", pmapi.Scale("instant"))
		n := 0
		for _, err := range g.Every(t.Context(), time.Hour) {
			if n++; n == 2 {
				wantClosed(t, err)
				continue
			}
			if err != nil || sold.Len() != 2 {
				t.Fatal(err, sold.Len())
			}
			time.AfterFunc(time.Minute, func() { c.Close() })
		}
		if n != 2 {
			t.Errorf("%d rounds, want 2", n)
		}
		_, err = c.Lookup(t.Context(), []string{"shop.sold"})
		wantClosed(t, err)

		if c, err = pmapi.Local(t.Context(), srv); err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		g = c.Group()
		pmapi.AddSet[uint64](g, "shop.sold")
		srv.Close()
		n = 0
		for _, err := range g.Every(t.Context(), time.Second) {
			if err == nil || errors.Is(err, net.ErrClosed) || errors.Is(err, pdu.ErrNoContext) {
				t.Fatal(err)
			}
			if n++; n == 3 {
				break
			}
		}
	})
}
