package collector

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// addClients enters pmcd.client.
func (p *pmcd) addClients() {
	p.clientMetric("whoami", 0, pdu.SemDiscrete, "What clients say about themselves",
		`A client may store here what it wants others to know about it, for example
its command line. Empty until it does. The instance of the store does not
matter: the client who stores is meant.`,
		func(c *client) string {
			if s := c.whoami.Load(); s != nil {
				return *s
			}
			return ""
		})
	p.storable(6, 0, setter{open: true, set: p.setWhoami})
	p.clientMetric("start_date", 1, pdu.SemDiscrete, "When clients have connected",
		"The collector's local time, in the form of ctime(3).",
		func(c *client) string { return ctime(c.since) })
	p.clientMetric("container", 2, pdu.SemInstant, "Containers that clients are interested in",
		`The name of the container whose metrics a client wants; empty for those of
the host. The instance of a store does not matter: the client who stores is
meant.`,
		func(c *client) string { return c.info.Load().Container })
	p.storable(6, 2, setter{open: true, set: p.setContainer})
}

// ctime is the form of ctime(3) without its newline.
func ctime(t time.Time) string { return t.Local().Format("Mon Jan _2 15:04:05 2006") }

func (p *pmcd) clientMetric(name string, item int, sem pdu.Sem, text, help string, value func(*client) string) {
	register(p, pmda.Metric[string]{
		Name: "pmcd.client." + name, ID: pmda.Item(6, item), Sem: sem, InDom: p.clients, Text: text, Help: help,
		Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[string]) error {
			for _, c := range p.s.clientList() {
				s.Put(instanceOf(c.info.Load()).ID, value(c))
			}
			return nil
		},
	})
}

// setWhoami stores a client's description of itself.
func (p *pmcd) setWhoami(r *pmda.Request, values pdu.ValueSet) error {
	v, err := onlyString(values)
	if err != nil {
		return err
	}
	if c := p.s.clientOf(r.Client); c != nil {
		c.whoami.Store(&v)
	}
	return nil
}

// maxContainer is how long a name may be that agents can be told, with the NUL
// after it.
const maxContainer = 4094

// setContainer stores which container a client wants, and tells the agents.
func (p *pmcd) setContainer(r *pmda.Request, values pdu.ValueSet) error {
	v, err := onlyString(values)
	if err != nil {
		return err
	}
	if len(v) > maxContainer {
		return pdu.ErrTooBig
	}
	c := p.s.clientOf(r.Client)
	if c == nil {
		return nil
	}
	info := *c.info.Load()
	info.Container = v
	p.s.mu.Lock() // or an agent that comes just now might be told the old one after the new
	defer p.s.mu.Unlock()
	c.info.Store(&info)
	p.s.announce(&info)
	return nil
}

// onlyString is the one value of a store that is about the client who stores.
func onlyString(values pdu.ValueSet) (string, error) {
	if values.Len() != 1 {
		return "", pdu.ErrInst
	}
	return pdu.As[string](values.Atom(0, pdu.TypeString))
}

// clientList is the clients in the order in which they have come.
func (s *Server) clientList() []*client {
	s.mu.Lock()
	list := slices.AppendSeq(make([]*client, 0, s.clients.len()), s.clients.all())
	s.mu.Unlock()
	slices.SortFunc(list, func(a, b *client) int { return cmp.Compare(a.info.Load().Seq, b.info.Load().Seq) })
	return list
}

// clientInstances is clientList as instances of the domain of clients.
func (s *Server) clientInstances() []pdu.Instance {
	list := s.clientList()
	insts := make([]pdu.Instance, len(list))
	for i, c := range list {
		insts[i] = instanceOf(c.info.Load())
	}
	return insts
}

// instanceOf is the instance of a client. There are no instances beyond 2³¹: a
// collector that has seen as many clients begins again, as the C one does.
func instanceOf(c *pmda.Client) pdu.Instance {
	id := pdu.InstID(c.Seq & (1<<31 - 1))
	return pdu.Instance{ID: id, Name: strconv.Itoa(int(id))}
}

// clientOf is the client that agents know as info, nil if it has gone.
func (s *Server) clientOf(info *pmda.Client) *client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if int(info.ID) >= len(s.clients.slots) {
		return nil
	}
	c := s.clients.slots[info.ID]
	if c == nil || c.info.Load().Seq != info.Seq {
		return nil
	}
	return c
}

// configuredLabels is the value of pmcd.labels.
func (s *Server) configuredLabels() (string, error) {
	set, _, err := s.Labels.Files()
	if err != nil || len(set.Labels) == 0 {
		return "", err
	}
	return string(set.JSON), nil
}

// deniedNames are the operations that a client may not do, for people.
func deniedNames(c *client) string {
	var names []string
	denied := Ops(c.denied.Load())
	if denied&OpFetch != 0 {
		names = append(names, "fetch")
	}
	if denied&OpStore != 0 {
		names = append(names, "store")
	}
	return strings.Join(names, " ")
}
