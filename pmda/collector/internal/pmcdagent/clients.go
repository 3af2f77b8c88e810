package pmcdagent

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// addClients registers pmcd.client.
func (p *pmcd) addClients() {
	p.clientMetric("pmcd.client.whoami", 0, pdu.SemDiscrete, "What clients say about themselves",
		`A client may store here what it wants others to know about it, for example
its command line. Empty until it does. The instance of the store does not
matter: the client who stores is meant.`,
		func(c Client) string { return p.notes.of(c.Seq).whoami })
	p.storable(6, 0, setter{anyUser: true, set: p.setWhoami})
	p.clientMetric("pmcd.client.start_date", 1, pdu.SemDiscrete, "When clients have connected",
		"The collector's local time, in the form of ctime(3).",
		func(c Client) string { return c.Since.Local().Format(time.ANSIC) })
	p.clientMetric("pmcd.client.container", 2, pdu.SemInstant, "Containers that clients are interested in",
		`The name of the container whose metrics a client wants; empty for those of
the host. The instance of a store does not matter: the client who stores is
meant.`,
		func(c Client) string { return c.Container })
	p.storable(6, 2, setter{anyUser: true, set: p.setContainer})
}

func (p *pmcd) clientMetric(name string, item int, sem pdu.Sem, text, help string, value func(Client) string) {
	register(p, pmda.Metric[string]{
		Name: name, ID: pmda.Item(6, item), Sem: sem, InDom: p.clients, Text: text, Help: help,
		Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[string]) error {
			for _, c := range p.Collector.Clients() {
				s.Put(instanceOf(c).ID, value(c))
			}
			return nil
		},
	})
}

// refreshClients updates the instances of the domain of clients.
func (p *pmcd) refreshClients(context.Context, *pmda.Request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []pdu.Instance
	for _, c := range p.Collector.Clients() {
		list = append(list, instanceOf(c))
	}
	if slices.Equal(list, p.ofClients) {
		return nil
	}
	p.ofClients = list
	_, err := p.clients.SetInstances(list...)
	return err
}

// instanceOf returns the instance of a client. Instance numbers wrap at 2³¹ clients, as in C
// pmcd.
func instanceOf(c Client) pdu.Instance {
	id := pdu.InstID(c.Seq & (1<<31 - 1))
	return pdu.Instance{ID: id, Name: strconv.Itoa(int(id))}
}

// setWhoami stores a client's description of itself.
func (p *pmcd) setWhoami(r *pmda.Request, values pdu.ValueSet) error {
	v, err := onlyString(values)
	if err == nil {
		p.updateNote(r.Client, func(n *clientNote) { n.whoami = v })
	}
	return err
}

// maxContainer is the maximum length of a container's name that can be sent to agents, without the
// NUL after it.
const maxContainer = 4094

// setContainer stores which container a client has chosen, and notifies the agents.
func (p *pmcd) setContainer(r *pmda.Request, values pdu.ValueSet) error {
	v, err := onlyString(values)
	if err != nil {
		return err
	}
	if len(v) > maxContainer {
		return pdu.ErrTooBig
	}
	p.Collector.SetContainer(r.Client, v)
	return nil
}

// onlyString returns the single value of a store about the calling client.
func onlyString(values pdu.ValueSet) (string, error) {
	if values.Len() != 1 {
		return "", pdu.ErrInst
	}
	return pdu.As[string](values.Atom(0, pdu.TypeString))
}

// A clientNote is what the agent remembers about a client.
type clientNote struct {
	whoami string
	cpu    cpuMark // at its last fetch of pmcd.cputime.per_pdu_in
}

// clientNotes holds the notes about clients by their sequence numbers.
type clientNotes struct {
	mu  sync.Mutex
	all map[uint64]clientNote
}

// of returns the note about a client, or a zero note if the client has no note.
func (n *clientNotes) of(seq uint64) clientNote {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all[seq]
}

// remove removes the note about a client that has disconnected.
func (n *clientNotes) remove(c *pmda.Client) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.all, c.Seq)
}

// updateNote changes the note about a client, unless the client has disconnected.
func (p *pmcd) updateNote(c *pmda.Client, change func(*clientNote)) {
	p.notes.mu.Lock()
	note := p.notes.all[c.Seq]
	change(&note)
	if p.notes.all == nil {
		p.notes.all = map[uint64]clientNote{}
	}
	p.notes.all[c.Seq] = note
	p.notes.mu.Unlock()
	// The client's end is reported after the client has left the table. So either this check or
	// that report removes the note.
	if !p.Collector.HasClient(c) {
		p.notes.remove(c)
	}
}
