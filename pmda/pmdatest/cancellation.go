package pmdatest

import (
	"context"
	"fmt"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A request that takes at least longTime must end within endLimit after its context has ended.
const (
	endLimit = time.Second
	longTime = time.Second
)

// checkCancellation cancels requests. The Handler need not fail them, but it must end them soon,
// and serve other requests afterwards.
func (c *checker) checkCancellation() {
	if len(c.metrics) == 0 {
		return
	}
	err := c.h.Fetch(c.ctx, request(0, nil), c.ids(), new(pdu.ResultWriter))
	away := err != nil && pdu.FromError(err) == pdu.ErrAgain // before any request has ended
	ended, cancel := context.WithCancel(c.ctx)
	cancel()
	c.requestEach(ended)
	c.endLong()
	c.endAtOnce()
	if !away {
		c.awaitReplies()
	}
	c.fetch(nil, c.ids()) // hangs if a cancelled request still holds a lock
	c.requestEach(c.ctx)
}

// awaitReplies waits until an agent in another process has replied to the cancelled requests. Until
// then, other requests fail with pdu.ErrAgain.
func (c *checker) awaitReplies() {
	for start := time.Now(); time.Since(start) < replyLimit; time.Sleep(time.Millisecond) {
		err := c.h.Fetch(c.ctx, request(0, nil), c.ids(), new(pdu.ResultWriter))
		if err == nil || pdu.FromError(err) != pdu.ErrAgain {
			return
		}
	}
}

// requestEach makes a request of each kind.
func (c *checker) requestEach(ctx context.Context) {
	r, m := request(0, nil), c.metrics[0]
	var w pdu.ResultWriter
	if err := c.h.Fetch(ctx, r, c.ids(), &w); err == nil && w.Len() != len(c.metrics) {
		c.errorf("Fetch with a context that has ended: neither an error nor a reply")
	}
	_, _ = c.h.Desc(ctx, r, m.desc.PMID)
	_, _ = c.h.Text(ctx, r, pdu.TextOfMetric(m.desc.PMID), pdu.TextOneLine)
	_, _ = c.h.Labels(ctx, r, pdu.LabelsOfItem(m.desc.PMID))
	_, _ = c.h.PMID(ctx, r, m.name)
	_, _ = c.h.Names(ctx, r, m.desc.PMID)
	_, _ = c.h.Children(ctx, r, m.name)
	_, _ = c.h.Traverse(ctx, r, m.name)
	for _, d := range c.indoms {
		_, _ = c.h.Instances(ctx, r, d.id, pdu.NoInst, "")
		_, _ = c.h.Labels(ctx, r, pdu.LabelsOfInstances(d.id))
	}
}

// endLong cancels fetches of slow metrics.
func (c *checker) endLong() {
	for _, m := range c.metrics {
		if c.took[m.name] < longTime {
			continue
		}
		ctx, cancel := context.WithCancel(c.ctx)
		var ended time.Time
		end := time.AfterFunc(longTime/10, func() { ended = time.Now(); cancel() })
		err := c.h.Fetch(ctx, request(0, nil), []pdu.PMID{m.desc.PMID}, new(pdu.ResultWriter))
		if end.Stop() || err == errReported {
			cancel()
			continue // it ended before it was cancelled
		}
		<-ctx.Done()
		if late := time.Since(ended); late > endLimit {
			c.errorf("%s: Fetch: it goes on for %v after its context has ended, want at most %v: what waits has to watch ctx.Done", m.name, late.Round(time.Millisecond), endLimit)
		}
	}
}

// endAtOnce cancels fetches at different times while they run.
func (c *checker) endAtOnce() {
	for n := range 8 {
		ctx, cancel := context.WithTimeoutCause(c.ctx, time.Duration(n)*20*time.Microsecond, fmt.Errorf("the client has gone"))
		r := &pmda.Request{Client: pmda.NewClient(uint32(n), uint64(n)+1)}
		_ = c.h.Fetch(ctx, r, c.ids(), new(pdu.ResultWriter))
		cancel()
	}
}
