package sample

import (
	"context"
	"os"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// process is the state of metrics about the agent itself.
type process struct {
	control        int32
	stopping       atomic.Bool // a client has stored -1 in control
	received, sent uint32      // PDUs
	profile        profileOf
	memory         uint64 // at the start, in bytes
}

func (s *sample) registerProcess() {
	p := &s.process
	p.memory = memoryInUse()
	add(s, 0, pmda.Metric[int32]{Name: "control", Value: variable(&p.control)})
	storeWord(s, 0, func(v int32) error {
		p.control = v
		p.stopping.Store(v == -1)
		return nil
	})
	if s.opts.Stop != nil {
		s.agent.OnReply(func(pdu.Kind, *pmda.Request) {
			if p.stopping.Load() {
				s.opts.Stop()
			}
		})
	}
	add(s, 1, pmda.Metric[uint32]{Name: "daemon_pid", Value: of(func() uint32 { return uint32(os.Getpid()) })})
	add(s, 2, pmda.Metric[uint32]{Name: "seconds", Sem: pdu.SemCounter, Units: pdu.TimeSec, Value: of(s.seconds)})
	add(s, 3, pmda.Metric[float64]{Name: "milliseconds", Sem: pdu.SemCounter, Units: pdu.TimeMSec,
		Value: of(func() float64 { return float64(time.Since(s.start).Microseconds()) / 1000 })})
	add(s, 4, pmda.Metric[int32]{Name: "load", Value: constant(int32(42))})
	add(s, 39, pmda.Metric[[]byte]{Name: "sysinfo", Value: of2(sysinfo)})
	add(s, 91, pmda.Metric[uint32]{Name: "datasize", Units: pdu.SpaceKByte, Value: of(func() uint32 {
		now := memoryInUse()
		return uint32((max(now, p.memory) - p.memory) >> 10)
	})})

	add(s, 40, pmda.Metric[uint64]{Name: "pdu", Sem: pdu.SemCounter, Units: pdu.UnitCount,
		Value: of(func() uint64 { return uint64(p.received) + uint64(p.sent) })})
	add(s, 41, pmda.Metric[uint32]{Name: "recv_pdu", Sem: pdu.SemCounter, Units: pdu.UnitCount, Value: variable(&p.received)})
	add(s, 42, pmda.Metric[uint32]{Name: "xmit_pdu", Sem: pdu.SemCounter, Units: pdu.UnitCount, Value: variable(&p.sent)})
	s.stores[40] = func(values pdu.ValueSet) error { // which takes what is in its place for a wrong type, unlike others
		if values.Len() != 1 {
			return pdu.ErrBadStore
		}
		return storeOne(values, func(uint64) { s.clearCounts(true, true) })
	}
	storeWord(s, 41, func(uint32) error { s.clearCounts(true, false); return nil })
	storeWord(s, 42, func(uint32) error { s.clearCounts(false, true); return nil })
}

// seconds returns how long the agent has run. It changes with the second of the clock, as in PCP's
// agent.
func (s *sample) seconds() uint32 { return uint32(time.Now().Unix() - s.start.Unix()) }

// of2 is of for a function that may fail.
func of2[T pdu.Scalar](f func() (T, error)) valueFunc[T] {
	return func(context.Context, *pmda.Request, pdu.Instance) (T, error) { return f() }
}

// count counts the PDUs of a request and its reply.
func (s *sample) count(c *pmda.Client, received, sent int) {
	s.process.received += uint32(received)
	s.process.sent += uint32(sent)
	s.countClient(c, received, sent)
}

// clearCounts clears the counts of one or both directions, in total and for each client.
func (s *sample) clearCounts(received, sent bool) {
	if received {
		s.process.received = 0
	}
	if sent {
		s.process.sent = 0
	}
	s.dynamic.clients.clear(received, sent)
}

// countProfile counts a profile PDU before a request for values or labels if the last such request
// was of another client. A profile has no reply.
func (s *sample) countProfile(r *pmda.Request) {
	if p := (profileOf{r.Profile, r.Client.Seq, r.ContextID}); s.process.profile != p {
		s.process.profile = p
		s.count(r.Client, 1, 0)
	}
}

// profileOf is a profile and its client.
type profileOf struct {
	profile *pdu.Profile
	client  uint64
	context int32
}

// memoryInUse returns the memory of the program in bytes.
func memoryInUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
