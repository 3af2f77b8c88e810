package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
	"github.com/pcp-go/pcp/pmapi"
)

// A step is one call that a goroutine makes.
type step struct {
	Question int
	Before   time.Duration // to wait before
	Timeout  time.Duration // 0: none
	Cancel   bool          // rather than a deadline
}

// A plan is what happens to one context.
type plan struct {
	Features pdu.Features
	Request  time.Duration // Dialer.RequestTimeout
	Callers  [][]step
	Read     int             // how many bytes the collector reads at a time
	Think    []time.Duration // how long it waits before each reply, in turn
	Dribble  []int           // how many bytes it sends at a time, in turn, with Pause in between
	Pause    time.Duration
	HangUp   int // after how many replies; 0: never

	calm atomic.Bool // no more waiting
}

func (pl *plan) wait(d time.Duration) {
	if !pl.calm.Load() {
		time.Sleep(d)
	}
}

func drawPlan(t *rapid.T) *plan {
	ms := func(most int) *rapid.Generator[time.Duration] {
		return rapid.Map(rapid.IntRange(0, most), func(n int) time.Duration { return time.Duration(n) * time.Millisecond })
	}
	steps := rapid.Custom(func(t *rapid.T) step {
		return step{
			Question: rapid.IntRange(0, len(apiCalls)-1).Draw(t, "apiCall"),
			Before:   ms(20).Draw(t, "before"),
			Timeout:  ms(40).Draw(t, "timeout"),
			Cancel:   rapid.Bool().Draw(t, "cancel"),
		}
	})
	return &plan{
		Features: rapid.SampledFrom([]pdu.Features{allFeatures, pdu.FeatureLabels, 0}).Draw(t, "features"),
		Request:  rapid.SampledFrom([]time.Duration{-1, 15 * time.Millisecond, time.Second}).Draw(t, "request"),
		Callers:  rapid.SliceOfN(rapid.SliceOfN(steps, 1, 8), 1, 5).Draw(t, "callers"),
		Read:     rapid.SampledFrom([]int{1, 7, 100, 1 << 20}).Draw(t, "read"),
		Think:    rapid.SliceOfN(ms(20), 1, 4).Draw(t, "think"),
		Dribble:  rapid.SliceOfN(rapid.IntRange(1, 64), 1, 4).Draw(t, "dribble"),
		Pause:    ms(5).Draw(t, "pause"),
		HangUp:   rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(t, "hang up"),
	}
}

// A slowReader reads few bytes at a time, with a pause before each.
type slowReader struct {
	net.Conn
	pl *plan
}

func (r slowReader) Read(b []byte) (int, error) {
	if r.pl.Read < 100 {
		r.pl.wait(r.pl.Pause / 8)
	}
	return r.Conn.Read(b[:min(r.pl.Read, len(b))])
}

// serveCollector is the collector of a plan.
func (pl *plan) serveCollector(p *pdutest.Peer) {
	if pdutest.AcceptClient(pl.Features)(p) != nil {
		return
	}
	p.Conn = pdu.NewConn(slowReader{p.Stream, pl})
	sent := 0
	for replies := 0; pl.HangUp == 0 || replies < pl.HangUp; replies++ {
		h, q, err := p.Receive()
		if err != nil {
			return
		}
		pl.wait(pl.Think[replies%len(pl.Think)])
		b := echo(h, q)
		if _, fetch := q.(*pdu.Fetch); fetch {
			b = append(frame(pdu.Status{Code: 1}), b...)
		}
		for len(b) > 0 {
			n := pl.Dribble[sent%len(pl.Dribble)]
			if sent++; len(b) > 1000 {
				n = len(b) / 3
			}
			n = min(n, len(b))
			if _, err := p.Stream.Write(b[:n]); err != nil {
				return
			}
			b = b[n:]
			pl.wait(pl.Pause)
		}
	}
}

// makeCalls makes the calls of one goroutine, and returns an error if something wrong happens.
func (pl *plan) makeCalls(c *pmapi.Context, who int, steps []step) error {
	for i, s := range steps {
		time.Sleep(s.Before)
		ctx, cancel := s.context()
		q := apiCalls[s.Question]
		start := time.Now()
		err := q.do(ctx, c, uint32(100_000*(who+1)+1000*i))
		took := time.Since(start)
		cancel()
		var mixed *wrongReply
		switch {
		case errors.As(err, &mixed):
			return fmt.Errorf("%s: %w", q.name, err)
		case s.Timeout > 0 && took > s.Timeout:
			return fmt.Errorf("%s took %v of %v", q.name, took, s.Timeout)
		case err == nil, errors.Is(err, errTired) && took == s.Timeout,
			errors.Is(err, pdu.ErrTimeout) && pl.Request > 0 && took >= pl.Request,
			errors.Is(err, pdu.ErrIPC) && pl.HangUp > 0,
			errors.Is(err, pdu.ErrNoLabels) && pl.Features == 0:
		default:
			return fmt.Errorf("%s: %w after %v", q.name, err, took)
		}
	}
	return nil
}

// context ends after the time-out, by a deadline or by cancellation.
func (s step) context() (context.Context, context.CancelFunc) {
	switch {
	case s.Timeout == 0:
		return context.Background(), func() {}
	case !s.Cancel:
		return context.WithTimeoutCause(context.Background(), s.Timeout, errTired)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	timer := time.AfterFunc(s.Timeout, func() { cancel(errTired) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// TestCancellation ends calls early, at any point. No apiCall gets the reply of another, and every
// error is the expected one. The context works afterwards unless the collector has hung up, which
// it reports.
func TestCancellation(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pl := drawPlan(rt)
		var failures []error
		synctest.Test(t, func(t *testing.T) { failures = pl.run(t) })
		for _, err := range failures {
			rt.Error(err)
		}
	})
}

func (pl *plan) run(t *testing.T) []error {
	var mu sync.Mutex
	var failures []error
	failed := func(err error) {
		if err != nil {
			mu.Lock()
			failures = append(failures, err)
			mu.Unlock()
		}
	}
	d := pmapi.Dialer{RequestTimeout: pl.Request}
	c, err := d.Local(t.Context(), serve(t, pl.serveCollector))
	if err != nil {
		return []error{err}
	}
	defer c.Close()
	var all sync.WaitGroup
	for who, steps := range pl.Callers {
		all.Go(func() { failed(pl.makeCalls(c, who, steps)) })
	}
	all.Wait()
	pl.calm.Store(true)
	time.Sleep(time.Second) // the waits that have begun
	for range 100 {         // late replies come first
		if _, err = c.Desc(t.Context(), 9); !errors.Is(err, pdu.ErrTimeout) {
			break
		}
	}
	if err != nil && !(pl.HangUp > 0 && errors.Is(err, pdu.ErrIPC)) {
		failed(fmt.Errorf("afterwards: %w", err))
	}
	return failures
}
