// Package pmdatest checks that a pmda.Handler keeps the contract that collectors rely on, like
// testing/slogtest and testing/fstest:
//
//	func TestContract(t *testing.T) {
//		pmdatest.Run(t, newAgent(),
//			pmdatest.Texts(),               // every metric has a help text
//			pmdatest.MayFail("cache.disk"), // the fetch of this metric may fail here
//			pmdatest.Stores(                // other metrics refuse stores
//				pmdatest.Store{Metric: "cache.size", Value: "100"},
//				pmdatest.Store{Metric: "cache.size", Value: "-1", Err: pdu.ErrBadStore}),
//			pmdatest.Restart(func() pmda.Handler { return newAgent() })) // same numbers
//	}
//
// Without options, [Run] checks what applies to every Handler. [Check] does the same outside a test
// and returns the failures as an error.
//
// # What is checked
//
// Run drives the Handler as a collector does. It calls BeginServing first, if the Handler has it
// (see pmda.Serving). It then traverses the name space, describes and fetches every metric, lists
// and looks up instances, applies profiles, requests texts and labels, reads events, stores values,
// cancels requests, and connects and disconnects clients. Several goroutines make some of the
// requests concurrently. A request fails the test if it
//
//   - returns an error instead of a value, except for the metrics of MayFail
//   - panics
//   - takes 5 seconds, the default timeout of collectors.
//
// Use the race detector too: it also finds a Handler that keeps using its arguments after it has
// returned.
//
// # Options
//
//	Texts        every metric and instance domain has a help text
//	MayFail      metrics whose fetch may fail where the test runs
//	Stores       stores and their results
//	Events       how to generate events of a metric
//	ChangeNames  how to add and remove metrics
//	Changing     instances come and go during the test
//	Restart      how to start the agent again, to check that PMIDs and instance IDs stay
//	PMIDs        the PMID of each metric
//	Names        the names of a Handler without a name space
//	Known        failures that are deliberate
//
// # Before the test
//
// Call Refresh of each pmda.Polled before the test, because the first fetches fail until it has
// read. Call SetReady(true) of an agent that starts not ready.
//
// Run stores into every metric the value that a fetch returned, and invalid values. Give it an
// agent whose state may change.
//
// # Testing values
//
// To check the values, write a test with a collector and a client in the same process, without a
// socket. In a bubble of testing/synctest its seconds take no time:
//
//	func TestHits(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			srv := &collector.Server{}
//			defer srv.Close()
//			if err := srv.Add(newAgent()); err != nil {
//				t.Fatal(err)
//			}
//			c, err := pmapi.Local(t.Context(), srv)
//			if err != nil {
//				t.Fatal(err)
//			}
//			defer c.Close()
//			g := c.Group()
//			rate := pmapi.AddSet[float64](g, "cache.hits") // a counter becomes a rate
//			if _, err := g.Fetch(t.Context()); err != nil {
//				t.Fatal(err)
//			}
//			time.Sleep(2 * time.Second)
//			hit("red", 6) // the code whose metrics are tested
//			if _, err := g.Fetch(t.Context()); err != nil {
//				t.Fatal(err)
//			}
//			if v, err := rate.Get("red"); v != 3 || err != nil {
//				t.Errorf("red: %v hits per second, %v", v, err)
//			}
//		})
//	}
package pmdatest

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A rule is one part of the contract.
type rule struct {
	name  string
	check func(*checker)
}

// rules lists the rules in order. Each may rely on the rules before it.
var rules = []rule{
	{"info", (*checker).checkInfo},
	{"names", (*checker).checkNames},
	{"PMIDs", (*checker).checkPMIDs},
	{"descriptors", (*checker).checkDescs},
	{"instances", (*checker).checkInstances},
	{"fetch", (*checker).checkFetch},
	{"profile", (*checker).checkProfile},
	{"text", (*checker).checkText},
	{"labels", (*checker).checkLabels},
	{"dynamic names", (*checker).checkDynamic},
	{"events", (*checker).checkEvents},
	{"store", (*checker).checkStore},
	{"requests", (*checker).checkRequests},
	{"cancellation", (*checker).checkCancellation},
	{"clients", (*checker).checkClients},
	{"concurrency", (*checker).checkConcurrency},
	{"lasting", (*checker).checkLasting},
	{"changed names", (*checker).checkChangedNames},
	{"restart", (*checker).checkRestart},
}

// Run checks h. Each part of the contract is a subtest.
func Run(t *testing.T, h pmda.Handler, opts ...Option) {
	t.Helper()
	if err := checkable(h); err != nil {
		t.Fatal(err)
	}
	c := newChecker(t.Context(), h, opts)
	defer func() { c.end() }() // of the Handler that Restart has started
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, err := range c.run(r) {
				t.Error(err)
			}
		})
	}
}

// Check checks h as Run does and returns the failures, joined. It returns nil if h keeps the
// contract.
func Check(h pmda.Handler, opts ...Option) error {
	if err := checkable(h); err != nil {
		return err
	}
	c := newChecker(context.Background(), h, opts)
	defer func() { c.end() }()
	var errs []error
	for _, r := range rules {
		for _, err := range c.run(r) {
			errs = append(errs, fmt.Errorf("%s: %w", r.name, err))
		}
	}
	return errors.Join(errs...)
}

// checkable rejects Handlers that would fail in every rule: nil, and a Handler that does not
// become ready.
func checkable(h pmda.Handler) error {
	if h == nil {
		return errors.New("the Handler is nil")
	}
	if a, ok := h.(*pmda.Agent); ok && a == nil {
		return errors.New("the *Agent is nil")
	}
	all, _ := unwrap(h) // the rule info reports its error
	i := slices.IndexFunc(all, func(h pmda.Handler) bool { _, ok := h.(pmda.Serving); return ok })
	if i < 0 {
		return nil
	}
	select {
	case <-all[i].(pmda.Serving).WhenReady():
		return nil
	case <-time.After(replyLimit):
		return fmt.Errorf("the Handler has not become ready within %v: call Agent.SetReady(true) before the test", replyLimit)
	}
}

// A checker is one run of the rules.
type checker struct {
	config
	h    *watched
	ctx  context.Context
	info pmda.Info
	end  func() // tells the Handler that it is no longer served

	ownTree bool                // the tree is the Handler's
	metrics []metric            // all with a descriptor, except those whose fetch does not end
	indoms  []indom             // the instance domains of metrics
	nameOf  map[pdu.PMID]string // the names of metrics

	took        map[string]time.Duration // time to fetch each metric alone
	params      map[param]bool           // the parameters of events that have been checked
	slowest     time.Duration            // the maximum of took
	slowestName string                   // the metric of slowest

	mu       sync.Mutex      // guards what follows
	failed   map[string]bool // metrics whose failure has been reported
	errs     []error         // of the rule that runs
	reported map[string]bool // the first lines of all reports, which are not repeated
	dropped  int
}

// maxErrors limits the reports of one rule, because one mistake often breaks every metric.
const maxErrors = 12

func newChecker(ctx context.Context, h pmda.Handler, opts []Option) *checker {
	c := &checker{ctx: ctx, end: func() {}, nameOf: map[pdu.PMID]string{}, failed: map[string]bool{}, took: map[string]time.Duration{}, params: map[param]bool{}, reported: map[string]bool{}}
	c.h = &watched{Handler: h, c: c}
	for _, o := range opts {
		o(&c.config)
	}
	return c
}

// begin calls BeginServing. It does not if Unwrap is wrong, because pmda.As might not return then.
func (c *checker) begin() {
	if !c.checkUnwrap() {
		return
	}
	if s, ok := pmda.As[pmda.Serving](c.h.Handler); ok {
		c.end = s.BeginServing(nil)
	}
}

// run applies a rule and returns its findings.
func (c *checker) run(r rule) []error {
	c.errs, c.dropped = nil, 0
	c.guard(func() { r.check(c) })
	if c.h.overdue.Load() >= maxOverdue {
		clear(c.reported)
		c.errorf("not checked to the end: %d requests had no reply within %v", maxOverdue, replyLimit)
	}
	if c.dropped > 0 {
		c.errs = append(c.errs, fmt.Errorf("and %d more", c.dropped))
	}
	return c.errs
}

// guard runs f and reports a panic.
func (c *checker) guard(f func()) {
	defer func() {
		switch v := recover(); v {
		case nil, stopped{}:
		default:
			c.errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	f()
}

// errorf reports a breach of the contract.
func (c *checker) errorf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := fmt.Errorf(format, args...)
	line, _, _ := strings.Cut(err.Error(), "\n")
	switch {
	case c.reported[line], slices.ContainsFunc(c.known, func(text string) bool { return strings.Contains(line, text) }):
		return
	case len(c.errs) == maxErrors:
		c.dropped++
	default:
		c.errs = append(c.errs, err)
	}
	c.reported[line] = true
}

// wantCode reports an error whose code is not want.
func (c *checker) wantCode(err error, want pdu.Error, format string, args ...any) {
	if got := pdu.FromError(err); got != want && err != errReported {
		c.errorf("%s: got %s, want error %d (%v)", fmt.Sprintf(format, args...), errorText(err), int32(want), want)
	}
}

func errorText(err error) string {
	switch err {
	case nil:
		return "no error"
	case errReported:
		return "it has failed, as reported"
	}
	return fmt.Sprintf("error %d (%v)", int32(pdu.FromError(err)), err)
}

// broken reports an error that no agent may return as a failure. It returns whether err is one.
func (c *checker) broken(err error, format string, args ...any) bool {
	switch pdu.FromError(err) {
	case pdu.ErrIPC, pdu.ErrTimeout:
		c.errorf("%s: %s: a collector takes this for a broken connection to the agent", fmt.Sprintf(format, args...), errorText(err))
		return true
	}
	return false
}

// request returns a request of a client with a profile.
func request(slot uint32, p *pdu.Profile) *pmda.Request {
	return &pmda.Request{Client: pmda.NewClient(slot, uint64(slot)+1), Profile: p}
}
