package sample

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// availability tells whether the agent serves requests. It is also used before a request, when
// another may run.
type availability struct {
	unready atomic.Int32 // for so many seconds, from the next request on
}

// registerAvailability adds the metric that makes the agent unready, and the check before each
// request.
func (s *sample) registerAvailability() {
	a := &s.dynamic.availability
	add(s, 56, pmda.Metric[int32]{Name: "not_ready", Value: of(a.unready.Load)})
	storeWord(s, 56, func(v int32) error {
		a.unready.Store(v)
		return nil
	})
	s.agent.OnRequest(func(context.Context, pdu.Kind, *pmda.Request) error { return s.check() })
}

// check returns the error of every request.
func (s *sample) check() error {
	if path := s.opts.Unavailable; path != "" {
		if _, err := os.Stat(path); err == nil {
			return pdu.ErrAgain
		}
	}
	a := &s.dynamic.availability
	if n := a.unready.Load(); n > 0 && a.unready.CompareAndSwap(n, 0) {
		s.agent.SetReady(false)
		time.AfterFunc(time.Duration(n)*time.Second, func() { s.agent.SetReady(true) })
	}
	return nil
}
