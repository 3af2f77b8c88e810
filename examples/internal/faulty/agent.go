// Package faulty is an agent with faulty metrics for tests of tools: instances that their domain
// lacks, domains that fail, values that contradict their descriptor, broken event arrays, empty
// texts, labels that override each other.
package faulty

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmns"
)

// Start runs a collector with the agent on a port of the loopback interface until the test ends.
// host is for -h.
func Start(t testing.TB) (host string) {
	t.Helper()
	s := &collector.Server{Hostname: "odd.example.com", Labels: collector.ContextLabels{}}
	if err := s.Add(New()); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background(), ln) }()
	t.Cleanup(func() {
		s.Close()
		<-served
	})
	return ln.Addr().String()
}

const domain pdu.Domain = 245

// A metric is a metric of the agent.
type metric struct {
	name         string
	desc         pdu.Desc // without PMID
	values       func(w *pdu.ResultWriter)
	labels       string // of the item
	needsProfile bool   // has values only of instances that a profile names
	text         string // the only one, and none for a "-"
	help         string
}

// The instance domains, by serial.
const (
	halfKnown = 1 // does not list instances 7 and 8
	refused   = 2 // fails
	empty     = 3 // has no instances
	stored    = 4 // whole, of metrics that can be stored
)

func indom(serial int) pdu.InDom { return pdu.MakeInDom(domain, serial) }

func desc(t pdu.Type, d pdu.InDom) pdu.Desc { return pdu.Desc{Type: t, InDom: d, Sem: pdu.SemInstant} }

func single(t pdu.Type) pdu.Desc { return desc(t, pdu.NoInDom) }

// uints returns a function that writes values by instance.
func uints(insts ...pdu.InstID) func(w *pdu.ResultWriter) {
	return func(w *pdu.ResultWriter) {
		for _, i := range insts {
			w.Uint32(i, uint32(1000+i))
		}
	}
}

func fails(e pdu.Error) func(w *pdu.ResultWriter) { return func(w *pdu.ResultWriter) { w.Fail(e) } }

func value(a pdu.Atom) func(w *pdu.ResultWriter) {
	return func(w *pdu.ResultWriter) { w.Atom(pdu.NoInst, a) }
}

// at returns a time of the events: n seconds after 2001-09-09 01:46:40 UTC.
func at(n int) time.Time { return time.Unix(1e9+int64(n), 123456789).UTC() }

// An Agent is an agent with faulty metrics, and some that keep stored values.
type Agent struct {
	pmda.Handler
	metrics []metric
	tree    *pmns.Tree

	mu   sync.Mutex
	kept map[pdu.PMID]map[pdu.InstID]pdu.Atom
}

// New makes an Agent.
func New() *Agent {
	a := &Agent{Handler: pmda.Unimplemented(pmda.Info{Name: "odd", Domain: domain}), metrics: metrics()}
	var b pmns.Builder
	for i, m := range a.metrics {
		name := m.name // metrics that make tools fail have names of their own
		if !strings.HasPrefix(name, "broken.") {
			name = "odd." + name
		}
		if err := b.Add(name, pdu.MakePMID(domain, 0, i)); err != nil {
			panic(err) // a duplicate name
		}
	}
	if err := b.Add("odd.alias", pdu.MakePMID(domain, 0, 1)); err != nil {
		panic(err)
	}
	if err := b.Add("odd.nothing", pdu.MakePMID(domain, 1, 1)); err != nil {
		panic(err)
	}
	a.tree = b.Tree()
	a.reset()
	return a
}

// reset gives the metrics that keep stored values their first values. Metrics named store.no...
// have no values.
func (a *Agent) reset() {
	a.kept = map[pdu.PMID]map[pdu.InstID]pdu.Atom{}
	for i, m := range a.metrics {
		if m.values != nil || strings.HasPrefix(m.name, "store.no") {
			continue
		}
		id := pdu.MakePMID(domain, 0, i)
		a.kept[id] = map[pdu.InstID]pdu.Atom{}
		for _, inst := range a.instances(m.desc.InDom) {
			switch m.desc.Type {
			case pdu.TypeDouble:
				a.kept[id][inst] = pdu.Float64(0.5)
			case pdu.TypeString:
				a.kept[id][inst] = pdu.String("first")
			default:
				a.kept[id][inst] = pdu.Uint32(uint32(10 + inst))
			}
		}
	}
}

// Namespace returns the names of all metrics.
func (a *Agent) Namespace() *pmns.Tree { return a.tree }

func (a *Agent) metric(id pdu.PMID) *metric {
	if id.Cluster() != 0 || id.Item() >= len(a.metrics) {
		return nil
	}
	return &a.metrics[id.Item()]
}

// Desc returns the descriptor of a metric.
func (a *Agent) Desc(_ context.Context, _ *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	m := a.metric(id)
	if m == nil {
		return pdu.Desc{}, pdu.ErrPMID
	}
	d := m.desc
	d.PMID = id
	return d, nil
}

// Fetch fetches values.
func (a *Agent) Fetch(_ context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range ids {
		w.Begin(id)
		m := a.metric(id)
		if m == nil {
			w.Fail(pdu.ErrPMID)
			continue
		}
		if m.needsProfile && r.Profile.For(m.desc.InDom).All() {
			w.Fail(pdu.ErrProfile)
			continue
		}
		if m.values != nil {
			m.values(w)
			continue
		}
		for _, inst := range a.instances(m.desc.InDom) {
			if v, ok := a.kept[id][inst]; ok && (inst == pdu.NoInst || r.Profile.Includes(m.desc.InDom, inst)) {
				w.Atom(inst, v)
			}
		}
	}
	return nil
}

// instances returns the instances of a metric that keeps stored values.
func (a *Agent) instances(d pdu.InDom) []pdu.InstID {
	if d == pdu.NoInDom {
		return []pdu.InstID{pdu.NoInst}
	}
	return []pdu.InstID{0, 1, 2}
}

// Store stores values of the metrics that keep them. It refuses 666, and 999 restores the first
// values.
func (a *Agent) Store(_ context.Context, _ *pmda.Request, values *pdu.Result) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range values.All() {
		m := a.metric(s.PMID)
		if m == nil || m.values != nil {
			return pdu.ErrPermission
		}
		for inst, v := range s.All(m.desc.Type) {
			if n, err := pdu.As[float64](v); err == nil && n == 666 {
				return pdu.ErrBadStore
			}
			if n, err := pdu.As[float64](v); err == nil && n == 999 {
				a.reset()
				return nil
			}
			if m.name == "store.halves" {
				if n, err := pdu.As[uint32](v); err == nil {
					v = pdu.Uint32(n / 2)
				}
			}
			if m.name == "store.forgets" && inst == 1 {
				delete(a.kept[s.PMID], 0)
			}
			if a.kept[s.PMID] == nil {
				a.kept[s.PMID] = map[pdu.InstID]pdu.Atom{}
			}
			if v.Type == pdu.TypeString {
				v = pdu.String(string(v.Bytes()))
			}
			a.kept[s.PMID][inst] = v
		}
	}
	return nil
}

// Instances returns the instances of a domain.
func (a *Agent) Instances(_ context.Context, _ *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	all := []pdu.Instance{{ID: 0, Name: "zero"}, {ID: 1, Name: "one and a half"}, {ID: 2, Name: "two"}}
	switch d.Serial() {
	case halfKnown, stored:
	case empty:
		all = nil
	default:
		return nil, pdu.ErrInDom
	}
	if inst == pdu.NoInst && name == "" {
		return all, nil
	}
	for _, i := range all {
		if i.ID == inst || i.Name == name {
			return []pdu.Instance{i}, nil
		}
	}
	return nil, pdu.ErrInst
}

// Text returns help texts.
func (a *Agent) Text(_ context.Context, _ *pmda.Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	if d, ok := of.InDom(); ok {
		if d.Serial() == halfKnown && kind&pdu.TextOneLine != 0 {
			return "half of it", nil
		}
		return "", pdu.ErrText
	}
	id, _ := of.PMID()
	m := a.metric(id)
	if m == nil {
		return "", pdu.ErrPMID
	}
	text := m.text
	if kind&pdu.TextHelp != 0 {
		text = m.help
	}
	switch text {
	case "":
		return "", pdu.ErrText
	case "-":
		return "", nil
	}
	return text, nil
}

// Labels returns labels of every class.
func (a *Agent) Labels(_ context.Context, _ *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	text, optional := "", false
	switch of.Class {
	case pdu.LabelDomain:
		text = `{"agent":"odd","level":"domain","list":[1,"x"]}`
	case pdu.LabelInDom:
		if of.InDom().Serial() != halfKnown {
			return nil, pdu.ErrInDom
		}
		text = `{"level":"indom","indom":true}`
	case pdu.LabelCluster:
		text, optional = `{"level":"cluster","notes":"of the cluster"}`, true
	case pdu.LabelItem:
		if m := a.metric(of.PMID()); m != nil {
			text = m.labels
		}
	case pdu.LabelInstances:
		if of.InDom().Serial() != halfKnown {
			return nil, pdu.ErrInDom
		}
		var sets []pdu.LabelSet
		for _, inst := range []pdu.InstID{1, 7, 0} {
			set, err := pdu.ParseLabels(of.Class, `{"inst":`+string(rune('0'+inst))+`,"level":"instance"}`, inst == 1)
			if err != nil {
				return nil, err
			}
			set.Inst = inst
			sets = append(sets, set)
		}
		return sets, nil
	}
	if text == "" {
		return nil, nil
	}
	set, err := pdu.ParseLabels(of.Class, text, optional)
	return []pdu.LabelSet{set}, err
}
