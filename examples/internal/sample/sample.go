// Package sample is the agent that PCP's tools and tests rely on, the counterpart of PCP's
// pmdasample: metrics of every type, semantics and kind of instance domain, values that clients
// set, counters that wrap, errors on demand, instances that come and go, events and dynamic names.
package sample

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/pcp-go/pcp/internal/helptext"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// Domain and DSODomain are the domains of the agent as a program and inside a collector.
const (
	Domain    pdu.Domain = 29
	DSODomain pdu.Domain = 30
)

// Options are the options of New. All may be zero.
type Options struct {
	// Domain is the agent's number; 0 means Domain.
	Domain pdu.Domain
	// Name is the first part of all names; empty means "sampledso" for DSODomain and else "sample".
	Name string
	// Dir is the directory with the file dynamic.indom and the help texts of an installed PCP, help
	// or dsohelp. Each of them is optional because the agent has built-in texts. Empty means no
	// directory.
	Dir string
	// Unavailable is the path of a file that makes all requests fail while it exists. Empty means
	// no file.
	Unavailable string
	// Stop is called when a client has stored -1 into control, to end the program after the reply.
	// Nil means that the agent continues, as PCP's does inside a collector.
	Stop func()
}

// sample is the state of the agent. Its handler runs one request at a time, so it needs no lock.
type sample struct {
	agent  *pmda.Agent
	opts   Options
	start  time.Time
	random rand48
	names  names
	known  map[uint32]*pmda.Client              // by ID
	stores map[int]func(set pdu.ValueSet) error // by item

	indoms    inDoms
	process   process
	writable  writables
	bins      [9]int32
	counters  counters
	steps     steps
	trends    trends
	colours   colours
	dodgey    dodgey
	errorCode int32

	dynamic dynamicParts // what dynamicparts.go and its companions keep
}

// New returns the agent. It runs one request at a time, as PCP's agent does, because values depend
// on the order of requests.
func New(opts Options) *pmda.Agent {
	opts.Domain = cmp.Or(opts.Domain, Domain)
	if opts.Name == "" {
		opts.Name = "sample"
		if opts.Domain == DSODomain {
			opts.Name = "sampledso"
		}
	}
	s := &sample{agent: &pmda.Agent{Name: "sample", Domain: opts.Domain}, opts: opts, start: time.Now()}
	s.known = map[uint32]*pmda.Client{}
	s.stores = map[int]func(pdu.ValueSet) error{}
	s.attachInDoms()
	s.registerProcess()
	s.registerConstants()
	s.registerBins()
	s.registerCounters()
	s.registerSteps()
	s.registerTrends()
	s.registerColours()
	s.registerDodgey()
	s.registerInstances()
	s.registerFailing()
	s.registerDynamicParts()
	s.useHelp()
	s.agent.Use(func(next pmda.Handler) pmda.Handler { return pmda.Serial(handler{next, s}) })
	return s.agent
}

// useHelp uses the help texts of an installed PCP. They are within the handler, which counts
// requests for them.
func (s *sample) useHelp() {
	if s.opts.Dir == "" {
		return
	}
	files, name := os.DirFS(s.opts.Dir), "help"
	if s.opts.Name == "sampledso" {
		name = "dsohelp"
	}
	switch _, err := helptext.Read(files, name); {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist):
		if _, err := fs.Stat(files, name); err != nil {
			return // there is neither the compiled pair nor the source
		}
	default:
		s.agent.Log().Warn("help texts are not used", slog.String("dir", s.opts.Dir), slog.Any("err", err))
		return
	}
	_ = s.agent.UseHelp(files, name) // the agent remembers the error
}

// add registers a metric. Its name is relative to the agent's and also selects its texts.
func add[T pdu.Scalar](s *sample, item int, m pmda.Metric[T]) {
	t := texts[m.Name]
	m.Text, m.Help = t.oneLine, t.help
	m.Name, m.ID = s.opts.Name+"."+m.Name, pmda.Item(0, item)
	pmda.Register(s.agent, m)
}

// valueFunc is the type of Value of a Metric.
type valueFunc[T pdu.Scalar] = func(context.Context, *pmda.Request, pdu.Instance) (T, error)

// constant returns a function that always returns v.
func constant[T pdu.Scalar](v T) valueFunc[T] { return of(func() T { return v }) }

// variable returns a function that returns the value of a variable.
func variable[T pdu.Scalar](v *T) valueFunc[T] { return of(func() T { return *v }) }

// of returns f as a Value function, which ignores the instance.
func of[T pdu.Scalar](f func() T) valueFunc[T] {
	return func(context.Context, *pmda.Request, pdu.Instance) (T, error) { return f(), nil }
}

// failing returns a function that always fails.
func failing[T pdu.Scalar](err error) valueFunc[T] {
	return func(context.Context, *pmda.Request, pdu.Instance) (v T, _ error) { return v, err }
}
