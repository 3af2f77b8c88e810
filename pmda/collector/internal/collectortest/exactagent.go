package collectortest

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmns"
)

// Mix spreads the bits of x, so that numbers next to each other give others that are
// not.
func Mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// ExpectedNumber is the value of a metric's instance. Instances have no end: a
// client asks for some that it has made up, so that the reply to another request,
// or of another client, is not taken for its own.
func ExpectedNumber(ident uint32, inst pdu.InstID) uint64 {
	return Mix(uint64(ident)<<32 | uint64(uint32(inst)))
}

// ExactItems is how many metrics an ExactAgent has; those from ExactStatic on lie
// below its dynamic root.
const (
	ExactItems  = 1024
	ExactStatic = 8
)

// ExpectedDesc describes a metric of any ExactAgent.
func ExpectedDesc(id pdu.PMID) pdu.Desc {
	d := pdu.Desc{PMID: id, InDom: pdu.MakeInDom(id.Domain(), 0), Sem: pdu.SemInstant}
	switch id.Item() % 4 {
	case 0:
		d.Type = pdu.TypeU64
	case 1:
		d.Type, d.InDom = pdu.TypeU32, pdu.NoInDom
	case 2:
		d.Type = pdu.TypeString
	case 3:
		d.Type = pdu.TypeDouble
	}
	return d
}

// ExpectedAtom is the value of a metric's instance in the type of the metric.
func ExpectedAtom(id pdu.PMID, inst pdu.InstID) pdu.Atom {
	v := ExpectedNumber(uint32(id), inst)
	switch ExpectedDesc(id).Type {
	case pdu.TypeU64:
		return pdu.Uint64(v)
	case pdu.TypeU32:
		return pdu.Uint32(uint32(v))
	case pdu.TypeString:
		return pdu.String(fmt.Sprintf("%v of %v is %x", inst, id, v))
	}
	return pdu.Float64(float64(v >> 11))
}

// ExpectedInsts are the instances of a metric under a profile, which selects them
// by name or, if it does not, gets the first four.
func ExpectedInsts(d pdu.InDom, p *pdu.Profile) []pdu.InstID {
	if d == pdu.NoInDom {
		return []pdu.InstID{pdu.NoInst}
	}
	if p != nil {
		if e := p.For(d); e.Exclude {
			return e.Insts
		}
	}
	return []pdu.InstID{0, 1, 2, 3}
}

// ExpectedInstance is an instance with its name.
func ExpectedInstance(d pdu.InDom, inst pdu.InstID) pdu.Instance {
	return pdu.Instance{ID: inst, Name: fmt.Sprintf("i%d-%x", inst, ExpectedNumber(uint32(d), inst))}
}

// ExpectedText is the help text of a metric or an instance domain.
func ExpectedText(ident uint32, kind pdu.TextKind) string {
	return fmt.Sprintf("text %d of %x", int(kind), ident)
}

// ExpectedLabels are the labels of a class, in JSON.
func ExpectedLabels(ident uint32, class pdu.LabelClass, inst pdu.InstID) string {
	return fmt.Sprintf(`{"class":%d,"inst":%d,"of":"%x"}`, int(class), inst, ident)
}

// ExpectedStoreError is the greatest error of ExpectedStore.
const ExpectedStoreError pdu.Error = -20000

// ExpectedStore is the reply to a store: of all that is possible, one that the
// values determine.
func ExpectedStore(id pdu.PMID, insts []pdu.InstID) pdu.Error {
	sum := uint64(id)
	for _, i := range insts {
		sum += ExpectedNumber(uint32(id), i)
	}
	if sum%3 == 0 {
		return 0
	}
	return ExpectedStoreError - pdu.Error(sum%5000)
}

// ExpectedNames are the names of an ExactAgent's metrics.
func ExpectedNames(b *pmns.Builder, d pdu.Domain) {
	for i := range ExactStatic {
		if err := b.Add(fmt.Sprintf("static%d.m%d", d, i), pdu.MakePMID(d, 0, i)); err != nil {
			panic(err)
		}
	}
	if err := b.Add(fmt.Sprintf("dynamic%d", d), pdu.DynamicRoot(d)); err != nil {
		panic(err)
	}
}

// An ExactAgent is an agent whose replies are known beforehand: the Expected functions
// give them.
type ExactAgent struct {
	pmda.Handler
	tree *pmns.Tree // nil if its names are in a file
}

// NewExactAgent is the agent of a domain, with the ExpectedNames.
func NewExactAgent(d pdu.Domain) *ExactAgent {
	var b pmns.Builder
	ExpectedNames(&b, d)
	return &ExactAgent{pmda.Unimplemented(pmda.Info{Name: fmt.Sprintf("exact%d", d), Domain: d}), b.Tree()}
}

func (o *ExactAgent) Namespace() *pmns.Tree { return o.tree }

func (o *ExactAgent) Fetch(_ context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	for _, id := range ids {
		w.Begin(id)
		for _, inst := range ExpectedInsts(ExpectedDesc(id).InDom, r.Profile) {
			w.Atom(inst, ExpectedAtom(id, inst))
		}
	}
	return nil
}

func (o *ExactAgent) Desc(_ context.Context, _ *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	return ExpectedDesc(id), nil
}

func (o *ExactAgent) Instances(_ context.Context, _ *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	switch {
	case inst != pdu.NoInst:
		return []pdu.Instance{ExpectedInstance(d, inst)}, nil
	case name != "":
		digits, _, _ := strings.Cut(strings.TrimPrefix(name, "i"), "-")
		n, err := strconv.Atoi(digits)
		if i := ExpectedInstance(d, pdu.InstID(n)); err == nil && i.Name == name {
			return []pdu.Instance{i}, nil
		}
		return nil, pdu.ErrInst
	}
	var all []pdu.Instance
	for _, i := range ExpectedInsts(d, nil) {
		all = append(all, ExpectedInstance(d, i))
	}
	return all, nil
}

func (o *ExactAgent) Text(_ context.Context, _ *pmda.Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	req := of.Request(kind)
	return ExpectedText(req.Ident, req.Text), nil
}

func (o *ExactAgent) Labels(_ context.Context, r *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	insts := []pdu.InstID{pdu.NoInst}
	if of.Class == pdu.LabelInstances {
		insts = ExpectedInsts(of.InDom(), r.Profile)
	}
	var sets []pdu.LabelSet
	for _, inst := range insts {
		set, err := pdu.ParseLabels(of.Class, ExpectedLabels(of.Request().Ident, of.Class, inst), false)
		if err != nil {
			return nil, err
		}
		set.Inst = inst
		sets = append(sets, set)
	}
	return sets, nil
}

func (o *ExactAgent) Store(_ context.Context, _ *pmda.Request, values *pdu.Result) error {
	var code pdu.Error
	for _, s := range values.All() {
		var insts []pdu.InstID
		for inst, a := range s.All(ExpectedDesc(s.PMID).Type) {
			if !a.Equal(ExpectedAtom(s.PMID, inst)) {
				return pdu.ErrBadStore
			}
			insts = append(insts, inst)
		}
		code = ExpectedStore(s.PMID, insts)
	}
	if code != 0 {
		return code
	}
	return nil
}

func (o *ExactAgent) dynamicName(id pdu.PMID) string {
	return fmt.Sprintf("dynamic%d.x%d", o.Info().Domain, id.Item())
}

func (o *ExactAgent) PMID(_ context.Context, _ *pmda.Request, name string) (pdu.PMID, error) {
	_, digits, _ := strings.Cut(name, ".x")
	n, err := strconv.Atoi(digits)
	if err != nil || n < ExactStatic || n >= ExactItems {
		return pdu.NoPMID, pdu.ErrName
	}
	return pdu.MakePMID(o.Info().Domain, 0, n), nil
}

func (o *ExactAgent) Names(_ context.Context, _ *pmda.Request, id pdu.PMID) ([]string, error) {
	return []string{o.dynamicName(id)}, nil
}

func (o *ExactAgent) Children(context.Context, *pmda.Request, string) ([]pmns.Child, error) {
	return []pmns.Child{{Name: "x8", Leaf: true}, {Name: "x9", Leaf: true}}, nil
}

func (o *ExactAgent) Traverse(_ context.Context, _ *pmda.Request, name string) ([]string, error) {
	return []string{name + ".x8", name + ".x9"}, nil
}
