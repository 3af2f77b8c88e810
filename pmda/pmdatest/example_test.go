package pmdatest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// printMistakes prints the error of Check, with a line break after each comma.
func printMistakes(err error) {
	fmt.Println(strings.ReplaceAll(fmt.Sprint(err), ", ", ",\n  "))
}

// The size of the cache can be stored, but not all sizes are possible. The author has
// forgotten to check them.
func ExampleStores() {
	var size atomic.Int64
	a := &pmda.Agent{Name: "cache", Domain: 400}
	pmda.Register(a, pmda.Metric[int64]{Name: "cache.size", Text: "Size of the cache", Units: pdu.SpaceByte,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (int64, error) { return size.Load(), nil },
		Store: func(_ context.Context, _ *pmda.Request, _ pdu.Instance, v int64) error {
			size.Store(v)
			return nil
		}})
	printMistakes(pmdatest.Check(a, pmdatest.Texts(), pmdatest.Stores(
		pmdatest.Store{Metric: "cache.size", Value: "4096"},
		pmdatest.Store{Metric: "cache.size", Value: "-1", Err: pdu.ErrBadStore})))
	// Output:
	// store: cache.size: Store("-1"): got no error,
	//   want error -12400 (Bad input to pmstore)
	// store: cache.size: Store("-1"): no error,
	//   but cache.size was "4096" and is "-1": check a value before it is set
}

// An agent numbers its jobs by their position, so that they have other IDs after a restart.
func ExampleRestart() {
	start := func(jobs ...string) *pmda.Agent {
		a := &pmda.Agent{Name: "batch", Domain: 401}
		pmda.Register(a, pmda.Metric[int64]{Name: "batch.jobs", Text: "Jobs done", Sem: pdu.SemCounter, InDom: a.AddInDom("job", jobs...),
			Value: func(context.Context, *pmda.Request, pdu.Instance) (int64, error) { return 1, nil }})
		return a
	}
	printMistakes(pmdatest.Check(start("backup", "mail"), pmdatest.Restart(func() pmda.Handler { return start("mail") })))
	// Output:
	// restart: Instances(401.0): "mail" has the ID 1,
	//   and 0 after a restart: an instance keeps its ID; InDom.SetNames sees to that
}

// Two clients must get the same logins, but this agent gives each login only to the first client.
func ExampleEvents() {
	var logins atomic.Int64 // not yet delivered
	a := &pmda.Agent{Name: "login", Domain: 402}
	pmda.Register(a, pmda.Metric[[]byte]{Name: "login.events", Text: "Logins", Type: pdu.TypeEvent,
		Value: func(context.Context, *pmda.Request, pdu.Instance) ([]byte, error) {
			var b pdu.EventBuilder
			for range logins.Swap(0) {
				b.Begin(time.Now(), pdu.EventPoint)
			}
			array, err := b.Atom()
			return array.Bytes(), err
		}})
	err := pmdatest.Check(a, pmdatest.Events("login.events", func(n int) { logins.Add(int64(n)) }))
	first, _, _ := strings.Cut(err.Error(), "\n")
	printMistakes(errors.New(first))
	// Output:
	// events: login.events: Fetch: of 3 events another client gets 0,
	//   and a count of 0 missed: some are neither delivered nor counted
}

// A metric comes and goes, and the agent reports the change correctly.
func ExampleChangeNames() {
	one := func(context.Context, *pmda.Request, pdu.Instance) (int64, error) { return 1, nil }
	a := &pmda.Agent{Name: "batch", Domain: 401}
	pmda.Register(a, pmda.Metric[int64]{Name: "batch.jobs", Text: "Jobs", Value: one})
	there := false
	err := pmdatest.Check(a, pmdatest.ChangeNames(func() {
		if there = !there; there {
			pmda.Register(a, pmda.Metric[int64]{Name: "batch.failed", Text: "Failed jobs", Value: one})
		} else {
			a.Remove("batch.failed")
		}
	}))
	fmt.Println(err)
	// Output:
	// <nil>
}
