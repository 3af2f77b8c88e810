// Package simple is an agent that shows most features of agents: values that a client can set, two
// instance domains, help texts and labels. One instance domain follows a file. The agent serves the
// same metrics as PCP's agent of the same name.
package simple

import (
	"context"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// simple is the state of the agent.
type simple struct {
	agent *pmda.Agent
	conf  conf
	now   *pmda.InDom

	mu       sync.Mutex // held for a whole fetch, so that each sees the state that it has made
	numfetch uint32
	colors   [3]int32  // by instance
	clock    time.Time // of the fetch
	cpu      cpuTimes
	cpuAt    uint32 // numfetch when they were read
}

// New returns the agent. conf is the path of its configuration file, a line such as "sec,min,hour"
// with the instances of simple.now. The file is read again when it has changed. An empty path means
// that all three always exist.
func New(conf string) *pmda.Agent {
	s := &simple{agent: &pmda.Agent{Name: "simple", Domain: 253, DomainLabels: `{"role":"testing"}`}}
	s.conf.path = conf
	s.colors = [3]int32{0, 100, 200}
	s.register()
	s.agent.Use(func(next pmda.Handler) pmda.Handler { return handler{next, s} })
	return s.agent
}

// register adds the metrics of the tables. The numbers are those of PCP's agent. An agent without
// that need can leave them out.
func (s *simple) register() {
	a := s.agent
	color := a.AddInDom("color", "red", "green", "blue")
	color.Text, color.Help = colorInDomText, colorInDomHelp
	color.Labels = `{"indom_name":"color","model":"RGB"}`

	s.now = a.AddInDom("time")
	if s.conf.path == "" {
		s.now.SetNames("sec", "min", "hour")
	} else {
		s.now.Refresh = func(context.Context, *pmda.Request) error {
			s.conf.check(s.now, a.Log())
			return nil
		}
	}
	s.now.Text, s.now.Help = timeInDomText, timeInDomHelp
	s.now.Labels = `{"indom_name":"time","unitsystem":"SI"}`
	s.now.InstanceLabels = func(i pdu.Instance) string { return `{"units":"` + i.Name + `"}` }

	pmda.Register(a, pmda.Metric[uint32]{
		Name: "simple.numfetch", Text: numfetchText, Help: numfetchHelp, ID: pmda.Item(0, 0),
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) { return s.numfetch, nil },
	})
	pmda.Register(a, pmda.Metric[int32]{
		Name: "simple.color", Text: colorText, Help: colorHelp, ID: pmda.Item(0, 1), InDom: color,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (int32, error) {
			c := &s.colors[i.ID]
			*c = (*c + 1) % 256
			return *c, nil
		},
	})
	pmda.Register(a, pmda.Metric[float64]{
		Name: "simple.time.user", Text: userText, Help: userHelp, ID: pmda.Item(1, 2), Sem: pdu.SemCounter, Units: pdu.TimeSec,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (float64, error) {
			err := s.readCPU()
			return s.cpu.user.Seconds(), err
		},
	})
	pmda.Register(a, pmda.Metric[float64]{
		Name: "simple.time.sys", Text: sysText, Help: sysHelp, ID: pmda.Item(1, 3), Sem: pdu.SemCounter, Units: pdu.TimeSec,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (float64, error) {
			err := s.readCPU()
			return s.cpu.sys.Seconds(), err
		},
	})
	pmda.Register(a, pmda.Metric[uint32]{
		Name: "simple.now", Text: nowText, Help: nowHelp, ID: pmda.Item(2, 4), InDom: s.now,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint32, error) { return s.timeOf(i.Name), nil },
	})
}

// A handler wraps the handler of the tables.
type handler struct {
	pmda.Handler
	s *simple
}

// Fetch counts fetches and reads the clock.
func (h handler) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	s := h.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.numfetch++
	s.clock = time.Now()
	return h.Handler.Fetch(ctx, r, ids, w)
}

// readCPU reads the processor times of this process once per fetch. If a client has set the count
// of fetches back, they are read again when it has caught up, as in PCP's agent.
func (s *simple) readCPU() (err error) {
	if s.numfetch > s.cpuAt {
		if s.cpu, err = cpuTimesNow(); err == nil {
			s.cpuAt = s.numfetch
		}
	}
	return err
}

// timeOf returns the part of the time for an instance of simple.now.
func (s *simple) timeOf(instance string) uint32 {
	switch instance {
	case "sec":
		return uint32(s.clock.Second())
	case "min":
		return uint32(s.clock.Minute())
	}
	return uint32(s.clock.Hour())
}
