package pmapi_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// More metrics than a collector accepts in one request are fetched in several requests.
func TestFetchMany(t *testing.T) {
	for _, features := range []pdu.Features{allFeatures, 0} {
		fetches, fail := 0, 0 // fail is the number of the fetch that fails, 0 for no fetch
		c := open(t, pmapi.Dialer{}, replying(features, func(h pdu.Header, p pdu.PDU) []byte {
			if h.Len > 65536 {
				return nil // as pmcd does
			}
			if _, ok := p.(*pdu.Fetch); !ok {
				return echo(h, p)
			}
			if fetches++; fetches == fail {
				return frame(pdu.Status{Code: pdu.ErrAgain})
			}
			return append(frame(pdu.Status{Code: pdu.Error(1 << fetches)}), echo(h, p)...)
		}))
		ids := make([]pdu.PMID, 40_000)
		for i := range ids {
			ids[i] = pdu.PMID(i + 1)
		}
		var r pdu.Result
		for _, tt := range []struct {
			n, fail, fetches int
			changed          pdu.Change
		}{{16_000, 0, 1, 2}, {16_377, 0, 1, 2}, {16_378, 0, 2, 6}, {40_000, 0, 3, 14}, {40_000, 3, 3, 0}, {5, 0, 1, 2 + 4}} {
			fetches, fail = 0, tt.fail
			err := c.Fetch(t.Context(), ids[:tt.n], &r)
			if tt.fail > 0 {
				if !errors.Is(err, pdu.ErrAgain) || r.Len() != 0 {
					t.Errorf("%d metrics: %v, %d sets", tt.n, err, r.Len())
				}
				continue
			}
			if err != nil || r.Len() != tt.n || fetches != tt.fetches || r.Changed != tt.changed {
				t.Errorf("%d metrics: %v, %d sets of %d fetches, changed %v", tt.n, err, r.Len(), fetches, r.Changed)
				continue
			}
			for i, s := range r.All() {
				if v, err := pdu.As[uint32](s.Atom(0, pdu.TypeU32)); err != nil || s.PMID != ids[i] || v != uint32(ids[i]) {
					t.Fatalf("%d metrics: value %d of %v at %d: %v", tt.n, v, s.PMID, i, err)
				}
			}
		}
	}
}

// The time-out applies to each reply of a request, not to all of them together.
func TestManyRepliesTime(t *testing.T) {
	ids := []pdu.PMID{1, 2, 3, 4, 5}
	for _, tt := range []struct {
		name  string
		slow  int           // the reply that takes too long
		limit time.Duration // of the context
		want  error
		took  time.Duration
	}{
		{"in time", 0, 0, nil, 5 * time.Second},
		{"too late", 3, 0, pdu.ErrTimeout, 4 * time.Second},
		{"deadline", 0, 3500 * time.Millisecond, context.DeadlineExceeded, 3500 * time.Millisecond},
	} {
		for _, call := range []struct {
			what string
			f    func(ctx context.Context, c *pmapi.Context) error
		}{
			{"texts", func(ctx context.Context, c *pmapi.Context) error { return second(c.Texts(ctx, ids, pdu.TextHelp)) }},
			{"labels", func(ctx context.Context, c *pmapi.Context) error { return second(c.ItemLabelSets(ctx, ids)) }},
			{"descriptors", func(ctx context.Context, c *pmapi.Context) error { return second(c.Descs(ctx, ids)) }},
		} {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				c := open(t, pmapi.Dialer{RequestTimeout: 2 * time.Second}, replying(pdu.FeatureLabels, func(h pdu.Header, p pdu.PDU) []byte {
					time.Sleep(time.Second)
					if n++; n == tt.slow {
						time.Sleep(time.Hour)
					}
					return echo(h, p)
				}))
				ctx := t.Context()
				if tt.limit > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.limit)
					defer cancel()
				}
				start := time.Now()
				if err := call.f(ctx, c); !errors.Is(err, tt.want) || time.Since(start) != tt.took {
					t.Errorf("%s %s: %v after %v", call.what, tt.name, err, time.Since(start))
				}
				if tt.slow > 0 {
					return
				}
				// Pending replies may take longer than one time-out, too.
				if err := call.f(t.Context(), c); err != nil {
					t.Errorf("%s %s, again: %v", call.what, tt.name, err)
				}
			})
		}
	}
}
