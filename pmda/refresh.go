package pmda

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pdu"
)

// A Polled is a T that is read in the background, because reading it takes too long for a fetch:
// from another server, for example, or with a command. Fetches get the latest T. Metrics and
// instance domains of its Group see the same T during a whole fetch. Before the first T has been
// read they fail with pdu.ErrAgain.
//
// Every makes a Polled without further settings. Any other Polled is attached with Attach. Do not
// change the fields after that.
//
// When reading fails, the error is logged and the last good T stays. Each failure in a row doubles
// the wait before the next attempt, up to a minute, or to the interval if that is longer. A panic
// is a failure.
//
// Reading starts when the Agent is served and stops when it is no longer served; see
// Agent.Background. All methods are safe for concurrent use once the Polled is attached.
//
// It is what PCP's programmer's guide calls a caching PMDA.
type Polled[T any] struct {
	// Read reads a T. Its ctx ends when the Agent is no longer served.
	Read func(ctx context.Context) (T, error)
	// Every is the time between the starts of two attempts, a millisecond to a year. An attempt
	// that takes longer is followed by the next one immediately. A metric of Register lets clients
	// change it.
	Every time.Duration
	// OnDemand reads only for clients: once when the Agent starts to be served, and then when a
	// client fetches a T that is older than Every. That client still gets the old T.
	OnDemand bool
	// MaxAge is the maximum age of a T. If it is exceeded, because reading fails or because no
	// client has fetched with OnDemand, the metrics of the Group fail with pdu.ErrAgain. Zero means
	// no limit.
	MaxAge time.Duration
	// Apply, if not nil, is called with each new T before clients get it. It can set the instances
	// of domains of the Group. It runs under the Group's lock. On an error the last T stays, as if
	// reading had failed.
	Apply func(v *T) error

	agent    *Agent
	group    *Group
	name     atomic.Pointer[string] // the name given to Register
	interval atomic.Int64           // a time.Duration
	last     atomic.Pointer[polled[T]]
	asked    chan struct{} // has room for one: a client wants a newer T
	wake     chan struct{} // has room for one: the time of the next attempt has changed
	stop     func()        // of the Background function

	turn      ctxwait.Mutex // one attempt at a time
	attempt   atomic.Pointer[time.Time]
	inARow    atomic.Int32 // failures since the last success
	refreshes atomic.Uint64
	failures  atomic.Uint64
	log       logOnce
}

// A polled is a T that has been read.
type polled[T any] struct {
	v  T
	at time.Time // when reading began
}

// Limits of the interval between the starts of two attempts.
const (
	minInterval = time.Millisecond
	maxInterval = 365 * 24 * time.Hour
)

// maxBackoff is the longest wait after failures, unless the interval is longer.
const maxBackoff = time.Minute

// Every returns a Polled that is attached to the Agent and calls read in the background every d
// while the Agent is served. d is a millisecond to a year. Agent.Err returns the error of a bad
// argument.
//
//	web := pmda.Every(a, 10*time.Second, readStatistics)
//	pmda.Register(a, pmda.Metric[uint64]{
//		Name:  "web.requests",
//		Group: web.Group(),
//		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
//			return web.Load().Requests, nil
//		},
//	})
//	web.Register("web.refresh", 0)
func Every[T any](a *Agent, d time.Duration, read func(ctx context.Context) (T, error)) *Polled[T] {
	c := &Polled[T]{Read: read, Every: d}
	c.Attach(a)
	return c
}

// Attach adds c to an Agent. Reading starts immediately if the Agent is already served. Errors,
// which Agent.Err also returns: no Read, an Every out of range, a Polled that is already attached.
func (c *Polled[T]) Attach(a *Agent) error {
	if c.agent != nil {
		err := c.opError("attach", errors.New("it is attached already"))
		a.fail(err)
		return err
	}
	c.agent, c.turn = a, ctxwait.NewMutex()
	c.asked, c.wake = make(chan struct{}, 1), make(chan struct{}, 1)
	c.group = a.Group(c.check)
	c.interval.Store(int64(c.Every))
	var err error
	switch {
	case c.Read == nil:
		err = c.opError("attach", errors.New("its Read is nil"))
	case !validInterval(c.Every):
		err = c.opError("attach", errInterval(c.Every))
	default:
		c.stop = a.Background(c.run)
		return nil
	}
	a.fail(err)
	return err
}

func errInterval(d time.Duration) error {
	return fmt.Errorf("interval %v out of range (%v..%v)", d, minInterval, maxInterval)
}

func validInterval(d time.Duration) bool { return minInterval <= d && d <= maxInterval }

// typeName returns the name of c for errors and the log: that of Register, or else the type T.
func (c *Polled[T]) typeName() string {
	if name := c.name.Load(); name != nil {
		return *name
	}
	return fmt.Sprintf("%T", *new(T))
}

func (c *Polled[T]) opError(op string, err error) error {
	return &OpError{Op: op, Agent: c.agent.Name, Name: c.typeName(), Err: err}
}

// Group returns the Group for the metrics and instance domains that use the T.
func (c *Polled[T]) Group() *Group { return c.group }

// Load returns the latest T, or nil before the first. Callers must not change it. In functions of
// the Group's metrics it is not nil, and stays the same during a fetch.
func (c *Polled[T]) Load() *T {
	if last := c.last.Load(); last != nil {
		return &last.v
	}
	return nil
}

// Refresh reads a T now and waits for it, even while the Agent is not served. A program that must
// not serve without values calls it first, and so do tests. Functions of the Group must not call
// it, because they would deadlock.
func (c *Polled[T]) Refresh(ctx context.Context) error {
	if err := c.refresh(ctx); err != nil {
		return c.opError("refresh", err)
	}
	notify(c.wake)
	return nil
}

// Stop ends the reading in the background permanently. The last T stays.
func (c *Polled[T]) Stop() {
	if c.stop != nil {
		c.stop()
	}
}

// Register adds four metrics about the Polled itself below a name, and returns the first error.
// Attach the Polled before. The metrics have the IDs first to first+3; if first is zero, the Agent
// chooses the IDs.
//
//	NAME.age        seconds since the reading of the values began
//	NAME.interval   seconds from one attempt to the next, which clients can set
//	NAME.refreshes  attempts that were successful
//	NAME.failures   attempts that failed
func (c *Polled[T]) Register(name string, first ItemID) error {
	c.name.Store(&name)
	id := func(n ItemID) ItemID {
		if first == 0 {
			return 0
		}
		return first + n
	}
	age := Metric[float64]{
		Name: name + ".age", ID: id(0), Units: pdu.TimeSec, Text: "Age of the values",
		Help: "Seconds since the agent began to read the values that clients get now.",
		Value: func(context.Context, *Request, pdu.Instance) (float64, error) {
			if last := c.last.Load(); last != nil {
				return time.Since(last.at).Seconds(), nil
			}
			return 0, NoValue
		},
	}
	interval := Metric[float64]{
		Name: name + ".interval", ID: id(1), Units: pdu.TimeSec, Sem: pdu.SemDiscrete, Text: "How often the values are read",
		Help: "Seconds from the beginning of one attempt to read the values to that of the\nnext. It can be set with pmstore, from 0.001 to a year.",
		Value: func(context.Context, *Request, pdu.Instance) (float64, error) {
			return c.currentInterval().Seconds(), nil
		},
		Store: func(_ context.Context, _ *Request, _ pdu.Instance, v float64) error {
			if !(v >= minInterval.Seconds() && v <= maxInterval.Seconds()) { // also rejects NaN
				return pdu.ErrBadStore
			}
			c.interval.Store(int64(v * float64(time.Second)))
			notify(c.wake)
			return nil
		},
	}
	count := func(n ItemID, what, text string, of *atomic.Uint64) Metric[uint64] {
		return Metric[uint64]{
			Name: name + what, ID: id(n), Units: pdu.UnitCount, Sem: pdu.SemCounter, Text: text,
			Value: func(context.Context, *Request, pdu.Instance) (uint64, error) { return of.Load(), nil },
		}
	}
	return cmp.Or(
		Register(c.agent, age),
		Register(c.agent, interval),
		Register(c.agent, count(2, ".refreshes", "How often the values have been read", &c.refreshes)),
		Register(c.agent, count(3, ".failures", "How often reading the values has failed", &c.failures)),
	)
}

// currentInterval returns the time between the starts of two attempts.
func (c *Polled[T]) currentInterval() time.Duration { return time.Duration(c.interval.Load()) }

// check is the refresh function of the Group. It returns an error if there is no T for clients.
func (c *Polled[T]) check(context.Context, *Request) error {
	last := c.last.Load()
	if last == nil {
		if !c.agent.isServed() {
			return c.opError("use", errors.New("nothing has been read, since the Agent is not served: call Refresh, or give its wrapper a method Unwrap"))
		}
		return reported{pdu.ErrAgain}
	}
	if !c.OnDemand && c.MaxAge <= 0 {
		return nil
	}
	age := time.Since(last.at)
	if c.OnDemand && age >= c.currentInterval() {
		notify(c.asked)
	}
	if c.MaxAge > 0 && age > c.MaxAge {
		return reported{pdu.ErrAgain}
	}
	return nil
}

// notify wakes the goroutine that waits for c, a channel with room for one value.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run reads until ctx ends.
func (c *Polled[T]) run(ctx context.Context) {
	next := time.NewTimer(0)
	defer next.Stop()
	for attempts := 0; ; attempts++ {
		if !c.await(ctx, next, attempts > 0) {
			return
		}
		c.refresh(ctx)
		next.Reset(c.wait())
	}
}

// await waits for the time of the next attempt, and with demand also for a client that needs a
// newer T. It returns false if ctx has ended.
func (c *Polled[T]) await(ctx context.Context, next *time.Timer, demand bool) bool {
	for due := false; ; {
		var asked chan struct{}
		if due {
			if !demand || !c.OnDemand || c.Load() == nil {
				return true
			}
			asked = c.asked
		}
		select {
		case <-ctx.Done():
			return false
		case <-next.C:
			due = true
		case <-c.wake:
			due = false
			next.Reset(c.wait())
		case <-asked:
			return true
		}
	}
}

// wait returns the time until the next attempt.
func (c *Polled[T]) wait() time.Duration {
	last := c.attempt.Load()
	if last == nil {
		return 0
	}
	delay := c.currentInterval()
	for range c.inARow.Load() {
		if delay = min(2*delay, max(maxBackoff, c.currentInterval())); delay >= maxBackoff {
			break
		}
	}
	return time.Until(last.Add(delay))
}

// refresh reads a T and makes it the latest.
func (c *Polled[T]) refresh(ctx context.Context) error {
	if err := c.turn.Lock(ctx); err != nil {
		return err
	}
	defer c.turn.Unlock()
	began := time.Now()
	c.attempt.Store(&began)
	err := c.replace(ctx, began)
	select {
	case <-c.asked: // the request was for a newer T, which there is now
	default:
	}
	switch {
	case err == nil:
		c.refreshes.Add(1)
		c.inARow.Store(0)
	case ctx.Err() != nil: // the end of ctx is not a failure
		return err
	default:
		c.failures.Add(1)
		c.inARow.Add(1)
	}
	c.agent.refreshed(ctx, &c.log, err, "reading in the background failed", slog.String("of", c.typeName()))
	return err
}

// replace reads a T and replaces the last one.
func (c *Polled[T]) replace(ctx context.Context, began time.Time) (err error) {
	defer func() {
		if p := recover(); c.agent.logPanic(p, "Polled.Read") {
			err = reported{fmt.Errorf("panic: %v", p)}
		}
	}()
	v, err := c.Read(ctx)
	if err != nil {
		return err
	}
	if err := c.group.turn.Lock(ctx); err != nil {
		return err
	}
	defer c.group.turn.Unlock()
	if c.Apply != nil {
		if err := c.Apply(&v); err != nil {
			return err
		}
	}
	c.last.Store(&polled[T]{v, began})
	return nil
}
