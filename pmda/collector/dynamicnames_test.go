package collector

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
)

var dynamicMetrics = flag.Int("dynamic.metrics", 2000, "add and remove `n` dynamic metrics")

// changing returns an agent that, after a store into changing.done, adds n metrics below
// changing.run one by one. Once there are n/2, it also removes them in the same order.
// changing.done is 1 when all are gone. Only requests advance it.
func changing(n int) *pmda.Agent {
	a := &pmda.Agent{Name: "changing", Domain: programDomain}
	var done atomic.Int32
	requests := make(chan bool, 1)
	a.OnRequest(func(context.Context, pdu.Kind, *pmda.Request) error {
		select {
		case requests <- true:
		default:
		}
		return nil
	})
	name := func(i int) string { return "changing.run.m" + strconv.Itoa(i) }
	change := func() {
		for i := range n + n/2 {
			if i%(n/50) == 0 {
				<-requests
			}
			if i < n {
				pmda.Register(a, pmda.Metric[int32]{Name: name(i),
					Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) { return int32(i), nil }})
			}
			if i >= n/2 {
				a.Remove(name(i - n/2))
			}
		}
		done.Store(1)
	}
	pmda.Register(a, pmda.Metric[int32]{Name: "changing.done", ID: pmda.Item(1, 0),
		Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) { return done.Load(), nil },
		Store: func(context.Context, *pmda.Request, pdu.Instance, int32) error { go change(); return nil }})
	a.AddDynamic("changing.run")
	return a
}

// consecutive checks that names are those of consecutive metrics of the agent. The root alone
// stands for an empty subtree.
func consecutive(names []string) error {
	if len(names) == 1 && names[0] == "changing.run" {
		return nil
	}
	last := -1
	for _, name := range names {
		number, ok := strings.CutPrefix(name, "changing.run.m")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || last >= 0 && n != last+1 {
			return fmt.Errorf("%s comes after number %d", name, last)
		}
		last = n
	}
	return nil
}

// watchChanges traverses the agent's names until they are gone. Each traversal must see one
// consistent state, and the client must be notified of changes.
func watchChanges(ctx context.Context, c *pmapi.Context, start func()) error {
	ids, err := c.Lookup(ctx, []string{"changing.done"})
	if err != nil {
		return err
	}
	var r pdu.Result
	heard, states := 0, map[string]bool{}
	for done := int32(0); done == 0; {
		names, err := c.Traverse(ctx, "changing.run")
		if errors.Is(err, pdu.ErrName) {
			names = nil
		} else if err != nil {
			return err
		}
		if err := consecutive(names); err != nil {
			return err
		}
		states[fmt.Sprint(len(names), strings.Join(names[:min(len(names), 1)], ""))] = true
		if err := c.Fetch(ctx, ids, &r); err != nil {
			return err
		}
		if r.Changed&pdu.ChangeNames != 0 {
			heard++
		}
		if done, err = pdu.As[int32](r.At(0).Atom(0, pdu.Type32)); err != nil {
			return err
		}
		start()
	}
	for range 2 { // the first fetch may still report the last change
		if err := c.Fetch(ctx, ids, &r); err != nil {
			return err
		}
	}
	switch {
	case heard == 0 || len(states) < 3:
		return fmt.Errorf("heard of changes %d times, and saw %d states", heard, len(states))
	case r.Changed&pdu.ChangeNames != 0:
		return errors.New("hears of changes when there are no more")
	}
	return nil
}

// watchers has 4 clients watch an agent that changes its names.
func watchers(t *testing.T, dial func() (*pmapi.Context, error)) {
	t.Helper()
	var clients sync.WaitGroup
	var begin sync.Once
	var started sync.WaitGroup
	started.Add(4)
	for range 4 {
		clients.Go(func() {
			ready := sync.OnceFunc(started.Done)
			defer ready() // a failed client must not hold up the others
			c, err := dial()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			first := true
			if err := watchChanges(t.Context(), c, func() {
				if first {
					first = false
					ready()
					started.Wait()
					begin.Do(func() {
						if err := c.Store(t.Context(), "changing.done", 0); err != nil {
							t.Error(err)
						}
					})
				}
			}); err != nil {
				t.Error(err)
			}
		})
	}
	clients.Wait()
}

// TestDynamicNames checks that clients that traverse the changing names of an agent in this process
// see one consistent state each time, and are notified of changes.
func TestDynamicNames(t *testing.T) {
	s := &Server{}
	t.Cleanup(func() { s.Close() })
	if err := s.Add(changing(*dynamicMetrics)); err != nil {
		t.Fatal(err)
	}
	before := s.nameTree()
	watchers(t, func() (*pmapi.Context, error) { return pmapi.Local(t.Context(), s) })
	if s.nameTree() != before {
		t.Error("the names were merged again")
	}
}

// TestInteropDynamicNames is the same with the agent as a program under C pmcd.
func TestInteropDynamicNames(t *testing.T) {
	c := pcptest.StartPMCD(t, pcptest.Config{
		PMNS:   fmt.Sprintf("root {\n\tchanging\n}\nchanging {\n\tdone\t%d:1:0\n\trun\t%d:*:*\n}\n", programDomain, programDomain),
		Agents: []string{fmt.Sprintf("changing %d pipe binary /usr/bin/env %s=changing=%d %s", programDomain, programEnv, *dynamicMetrics, os.Args[0])},
	})
	watchers(t, func() (*pmapi.Context, error) { return pmapi.Dial(t.Context(), c.Addr()) })
}
