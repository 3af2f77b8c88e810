package collector

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// addAgents enters pmcd.numagents, pmcd.agent and pmcd.numclients.
func (p *pmcd) addAgents() {
	register(p, pmda.Metric[uint32]{
		Name: "pmcd.numagents", ID: pmda.Item(0, 2),
		Text:  "Agents that are connected",
		Help:  "The agents that are hosted or connected now, this one included.",
		Value: always(func() uint32 { return uint32(p.s.NumAgents()) }),
	})
	agentMetric(p, "type", 0, pdu.SemDiscrete, "How agents are connected",
		`0: the agent is part of the collector's process;
2: it has a socket;
4: it is a child with two pipes.`,
		func(a *agent) uint32 { return uint32(a.kind) << 1 })
	agentMetric(p, "status", 1, pdu.SemDiscrete, "What has become of agents",
		`0 if the agent is connected and answers. Otherwise the sum of
  1      it is connected but has said that it is not ready
  2      it has exited by itself
  4      it could not be started
  8      it was dropped after a failure of the protocol
and, of an agent whose process has ended, 256 times its exit status and
65536 times the number of the signal that has ended it.`, (*agent).state)
	agentMetric(p, "fenced", 2, pdu.SemInstant, "Agents that are fenced off",
		`1 while the agent is fenced off: requests fail at once and are not passed on.
A store of 1 raises the fence and one of 0 lowers it, of one agent or, without
an instance, of all. The agent of the metrics pmcd.* cannot be fenced off; a
store passes it by.`,
		func(a *agent) uint32 {
			if a.fenced.Load() {
				return 1
			}
			return 0
		})
	p.storable(4, 2, setter{set: setEach(p.setFence)})
	agentMetric(p, "name", 3, pdu.SemDiscrete, "Names of agents",
		"The name that the agent has in the configuration.", (*agent).name)
	register(p, pmda.Metric[uint32]{
		Name: "pmcd.numclients", ID: pmda.Item(0, 3),
		Text:  "Clients that are connected",
		Help:  "The connections of clients that the collector has now.",
		Value: always(func() uint32 { return uint32(len(p.s.clientInstances())) }),
	})
}

// agentMetric enters a metric of the agents.
func agentMetric[T pdu.Scalar](p *pmcd, name string, item int, sem pdu.Sem, text, help string, value func(*agent) T) {
	register(p, pmda.Metric[T]{
		Name: "pmcd.agent." + name, ID: pmda.Item(4, item), Sem: sem, InDom: p.agents, Text: text, Help: help,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (v T, err error) {
			a := p.s.agents.Load().get(pdu.Domain(i.ID))
			if a == nil {
				return v, pmda.NoValue
			}
			return value(a), nil
		},
	})
}

// setFence raises or lowers the fence of one agent or of all.
func (p *pmcd) setFence(i pdu.InstID, v uint32) error {
	if v > 1 {
		return pdu.ErrBadStore
	}
	t := p.s.agents.Load()
	if i == pdu.NoInst {
		for _, a := range t.list {
			a.fence(v == 1)
		}
		return nil
	}
	a := t.get(pdu.Domain(i))
	if a == nil {
		return pdu.ErrInst
	}
	a.fence(v == 1)
	return nil
}

func (a *agent) fence(up bool) {
	if a.domain() != pmcdDomain {
		a.fenced.Store(up)
	}
}

// state is the value of pmcd.agent.status.
func (a *agent) state() int32 {
	if p := a.remote.Load(); p != nil && !p.Ready() {
		select {
		case <-p.Done(): // its end is being noticed
		default:
			return statusNotReady
		}
	}
	return a.status.Load()
}
