package pmcdagent

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// addAgents registers pmcd.numagents, pmcd.agent and pmcd.numclients.
func (p *pmcd) addAgents() {
	register(p, pmda.Metric[uint32]{
		Name: "pmcd.numagents", ID: pmda.Item(0, 2),
		Text:  "Agents that are connected",
		Help:  "The agents that are hosted or connected now, this one included.",
		Value: always(func() uint32 { return uint32(p.Collector.NumAgents()) }),
	})
	agentMetric(p, "pmcd.agent.type", 0, pdu.SemDiscrete, "How agents are connected",
		`0: the agent is part of the collector's process;
2: it has a socket;
4: it is a child with two pipes.`,
		func(a Agent) uint32 { return map[string]uint32{"socket": 2, "pipe": 4}[a.Kind] })
	agentMetric(p, "pmcd.agent.status", 1, pdu.SemDiscrete, "What has become of agents",
		`0 if the agent is connected and answers. Otherwise the sum of
  1      it is connected but has said that it is not ready
  2      it has exited by itself
  4      it could not be started
  8      it was dropped after a failure of the protocol
and, of an agent whose process has ended, 256 times its exit status and
65536 times the number of the signal that has ended it.`,
		func(a Agent) int32 { return a.Status })
	agentMetric(p, "pmcd.agent.fenced", 2, pdu.SemInstant, "Agents that are fenced off",
		`1 while the agent is fenced off: requests fail at once and are not passed on.
A store of 1 raises the fence and one of 0 lowers it, of one agent or, without
an instance, of all. The agent of the metrics pmcd.* cannot be fenced off; a
store passes it by.`,
		func(a Agent) uint32 {
			if a.Fenced {
				return 1
			}
			return 0
		})
	p.storable(4, 2, setter{set: setEach(p.setFence)})
	agentMetric(p, "pmcd.agent.name", 3, pdu.SemDiscrete, "Names of agents",
		"The name that the agent has in the configuration.",
		func(a Agent) string { return a.Name })
	p.addLatencies()
	register(p, pmda.Metric[uint32]{
		Name: "pmcd.numclients", ID: pmda.Item(0, 3),
		Text:  "Clients that are connected",
		Help:  "The connections of clients that the collector has now.",
		Value: always(func() uint32 { return uint32(len(p.Collector.Clients())) }),
	})
}

// agentMetric registers a metric of the agents.
func agentMetric[T pdu.Scalar](p *pmcd, name string, item int, sem pdu.Sem, text, help string, value func(Agent) T) {
	register(p, pmda.Metric[T]{
		Name: name, ID: pmda.Item(4, item), Sem: sem, InDom: p.agents, Text: text, Help: help,
		Value: ofAgent(p, func(a Agent) (T, bool) { return value(a), true }),
	})
}

// ofAgent returns the Value function of a metric of the agents. An agent has no value if it was
// removed, or if value does not return ok.
func ofAgent[T pdu.Scalar](p *pmcd, value func(Agent) (v T, ok bool)) func(context.Context, *pmda.Request, pdu.Instance) (T, error) {
	return func(_ context.Context, _ *pmda.Request, i pdu.Instance) (v T, err error) {
		a, ok := p.Collector.Agent(pdu.Domain(i.ID))
		if ok {
			v, ok = value(a)
		}
		if !ok {
			return v, pmda.NoValue
		}
		return v, nil
	}
}

// setFence raises or lowers the fence of one agent or of all.
func (p *pmcd) setFence(i pdu.InstID, v uint32) error {
	if v > 1 {
		return pdu.ErrBadStore
	}
	if i != pdu.NoInst {
		if _, ok := p.Collector.Agent(pdu.Domain(i)); !ok {
			return pdu.ErrInst
		}
		p.fence(pdu.Domain(i), v == 1)
		return nil
	}
	for _, a := range p.Collector.Agents() {
		p.fence(a.Domain, v == 1)
	}
	return nil
}

// fence raises or lowers the fence of an agent. This agent itself is never fenced: no store could
// lower its fence again.
func (p *pmcd) fence(d pdu.Domain, up bool) {
	if d != Domain {
		p.Collector.SetFence(d, up)
	}
}

// refreshAgents updates the instances of the domain of agents.
func (p *pmcd) refreshAgents(context.Context, *pmda.Request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []pdu.Instance
	for _, a := range p.Collector.Agents() {
		list = append(list, pdu.Instance{ID: pdu.InstID(a.Domain), Name: a.Name})
	}
	list = uniqueNames(list)
	if slices.Equal(list, p.ofAgents) {
		return nil
	}
	p.ofAgents = list
	_, err := p.agents.SetInstances(list...)
	return err
}

// uniqueNames makes the names of instances unique up to the first space, by adding the domain to
// later names. It replaces control characters by underscores.
func uniqueNames(list []pdu.Instance) []pdu.Instance {
	seen := map[string]bool{}
	for i := range list {
		list[i].Name = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return '_'
			}
			return r
		}, list[i].Name)
		short := firstWord(list[i].Name)
		if seen[short] || short == "" {
			short = firstWord(list[i].Name) + "." + strconv.Itoa(int(list[i].ID))
			list[i].Name = short
		}
		seen[short] = true
	}
	return list
}

func firstWord(s string) string {
	s, _, _ = strings.Cut(s, " ")
	return s
}
