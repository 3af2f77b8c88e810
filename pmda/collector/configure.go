package collector

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector/internal/pmcdagent"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// RestartAgents restarts the agents that have died or failed to start, as pmcd does on SIGHUP. It
// returns the names of these agents, even of those that fail again.
func (s *Server) RestartAgents() []string {
	s.init()
	var names []string
	for _, a := range s.agents.Load().list {
		if a.local != nil || a.remote.Load() != nil {
			continue
		}
		names = append(names, a.name())
		s.relaunch(a)
	}
	return names
}

// Configure applies a new configuration, as pmcd does on SIGHUP. It replaces the access rules and
// the limits as SetAccess and SetLimits do: a configuration without an access section allows
// everything.
//
// An agent whose line was removed or changed ends. If only the name has changed, it runs on under
// the new name. Agents of Add stay. Configure starts new agents and those that have died. The error
// joins the errors of new agents that did not start.
func (s *Server) Configure(cfg *pmcdconf.Config) error {
	s.init()
	s.configuring.Lock()
	defer s.configuring.Unlock()
	s.SetAccess(cfg.Access)
	s.SetLimits(cfg.Limits)
	keep := map[*agent]bool{}
	var fresh []pmcdconf.Agent
	for _, conf := range cfg.Agents {
		switch a := s.agents.Load().get(conf.Domain); {
		case a != nil && (a.domain() == pmcdagent.Domain || sameProcess(a.conf, conf)):
			keep[a] = true
			a.setName(conf.Name)
		default:
			fresh = append(fresh, conf)
		}
	}
	coming := make(comingAgents, len(fresh))
	for _, conf := range fresh {
		coming[conf.Domain] = &comingAgent{tried: make(chan struct{})}
	}
	s.coming.Store(&coming)
	defer s.coming.Store(nil)
	for _, a := range s.agents.Load().list {
		if !keep[a] && a.conf.Name != "" && s.drop(a) {
			attrs := a.attrs()
			if err := a.stop(); err != nil {
				attrs = append(attrs, slog.Any("err", err))
			}
			s.log.Info("agent unconfigured", attrs...)
		}
	}
	s.RestartAgents()
	var errs []error
	for _, conf := range fresh {
		errs = append(errs, s.StartAgent(conf))
		coming.tried(conf.Domain)
	}
	return errors.Join(errs...)
}

// sameProcess reports whether two lines start the same agent, perhaps under different names.
func sameProcess(a, b pmcdconf.Agent) bool {
	same := a.Domain == b.Domain && a.Kind == b.Kind && slices.Equal(a.Argv, b.Argv)
	switch a.Kind {
	case "dso":
		return same && a.Entry == b.Entry && a.Path == b.Path
	case "socket":
		return same && a.Network == b.Network && (a.Address == b.Address || a.Port != 0 && a.Port == b.Port)
	}
	return same && a.NotReady == b.NotReady
}

// A comingAgent is an agent that Configure is about to start.
type comingAgent struct {
	tried chan struct{} // closed when the start has succeeded or failed
	once  sync.Once     // two lines may have the same domain
}

// comingAgents are the new agents of a call of Configure.
type comingAgents map[pdu.Domain]*comingAgent

// tried reports that the start of an agent has succeeded or failed.
func (c comingAgents) tried(d pdu.Domain) { c[d].once.Do(func() { close(c[d].tried) }) }

// await waits until the start of an agent has succeeded or failed, or until the deadline.
func (c comingAgents) await(d pdu.Domain, deadline time.Time) {
	a := c[d]
	if a == nil {
		return
	}
	var late <-chan time.Time
	if !deadline.IsZero() {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-a.tried:
	case <-late:
	}
}

// agentOf returns the agent of a domain, or nil. If Configure is about to start the agent, agentOf
// waits for that until the deadline of the request, as clients of pmcd do.
func (r *request) agentOf(d pdu.Domain) *agent {
	s := r.client.s
	if a := s.agents.Load().get(d); a != nil && a.current() != nil {
		return a
	}
	if coming := s.coming.Load(); coming != nil {
		coming.await(d, r.deadline)
	}
	return s.agents.Load().get(d)
}
