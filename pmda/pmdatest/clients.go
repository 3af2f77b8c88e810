package pmdatest

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// checkClients ends known and unknown clients, and fetches after that.
func (c *checker) checkClients() {
	known := pmda.NewClient(0, 1)
	c.h.SetClient(known)
	c.fetch(nil, c.ids())
	c.h.EndClient(known)
	c.h.EndClient(known)
	c.h.EndClient(pmda.NewClient(99, 100))
	c.fetch(nil, c.ids())
	c.checkLeaks()
}

// leakClients is the number of clients that come and go. Goroutines that a Handler starts only
// once are not leaks.
const leakClients = 8

// checkLeaks connects and disconnects clients, and looks for goroutines that every client leaves.
func (c *checker) checkLeaks() {
	label := fmt.Sprintf("client of %p", c)
	for n := range leakClients {
		labels := pprof.Labels(label, strconv.Itoa(n))
		pprof.Do(c.ctx, labels, func(context.Context) { c.comeAndGo(uint32(n)) })
	}
	if c.h.overdue.Load() > 0 {
		return // a request still runs
	}
	var left map[string]string
	const patience = 100 // tries; the last one is after 5 s
	for n := range patience {
		if left = goroutinesWith(label); len(left) < leakClients {
			return
		}
		time.Sleep(time.Duration(n) * time.Millisecond)
	}
	c.errorf("EndClient: %d clients have come and gone, and each has left a goroutine: end what its requests have started; the first is\n%s", leakClients, left["0"])
}

// comeAndGo connects a client, makes requests and disconnects it.
func (c *checker) comeAndGo(slot uint32) {
	r := &pmda.Request{Client: pmda.NewClient(slot, 1000+uint64(slot))}
	c.h.SetClient(r.Client)
	_, _ = c.fetchFor(r, c.ids())
	for _, d := range c.indoms {
		_, _ = c.h.Instances(c.ctx, r, d.id, pdu.NoInst, "")
		_, _ = c.h.Labels(c.ctx, r, pdu.LabelsOfInstances(d.id))
	}
	for name, id := range c.tree.All() {
		if _, dynamic := id.IsDynamicRoot(); dynamic {
			_, _ = c.h.Traverse(c.ctx, r, name)
		}
	}
	c.h.EndClient(r.Client)
}

// goroutinesWith returns the stacks of goroutines that have a label, by its value. A goroutine
// inherits the labels of the one that started it.
func goroutinesWith(label string) map[string]string {
	var b bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&b, 1) // cannot fail
	found := map[string]string{}
	for group := range strings.SplitSeq(b.String(), "\n\n") {
		_, labels, ok := strings.Cut(group, strconv.Quote(label)+":\"")
		if value, _, end := strings.Cut(labels, `"`); ok && end {
			found[value] = group
		}
	}
	return found
}
