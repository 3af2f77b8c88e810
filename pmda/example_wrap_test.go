package pmda_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

// A logged is a Handler that logs the values that clients store.
type logged struct{ pmda.Handler }

func (l logged) Unwrap() pmda.Handler { return l.Handler }

func (l logged) Store(ctx context.Context, r *pmda.Request, values *pdu.Result) error {
	err := l.Handler.Store(ctx, r, values)
	for _, set := range values.All() {
		fmt.Println("store of", set.PMID, "returns:", err) // or slog.Info, with r.Client.User
	}
	return err
}

// A wrapper embeds a Handler and overrides a method. This one works with any Handler.
func ExampleHandler() {
	var limit atomic.Uint64
	a := &pmda.Agent{Name: "cache", Domain: 400}
	pmda.Register(a, pmda.Metric[uint64]{
		Name: "cache.limit", Text: "Most entries that the cache may hold", Units: pdu.UnitCount,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
			return limit.Load(), nil
		},
		Store: func(_ context.Context, _ *pmda.Request, _ pdu.Instance, v uint64) error {
			if v > 1000 {
				return pdu.ErrBadStore
			}
			limit.Store(v)
			return nil
		},
	})
	srv := &collector.Server{}
	defer srv.Close()
	if err := srv.Add(logged{a}); err != nil {
		fmt.Println(err)
	}

	ctx := context.Background()
	c, err := pmapi.Local(ctx, srv)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	c.Store(ctx, "cache.limit", 500)
	c.Store(ctx, "cache.limit", 5000)
	fmt.Println(limit.Load())
	// Output:
	// store of 400.0.0 returns: <nil>
	// store of 400.0.0 returns: pmda: agent cache: store "cache.limit": Bad input to pmstore
	// 500
}
