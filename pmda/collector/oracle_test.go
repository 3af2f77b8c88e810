package collector

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmns"
)

// mix spreads the bits of x, so that numbers next to each other give others that are
// not.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// truth is the value of a metric's instance. Instances have no end: a client asks
// for some that it has made up, so that the reply to another request, or of
// another client, is not taken for its own.
func truth(ident uint32, inst pdu.InstID) uint64 {
	return mix(uint64(ident)<<32 | uint64(uint32(inst)))
}

// truthItems is how many metrics an oracle has; those from truthStatic on lie
// below its dynamic root.
const (
	truthItems  = 1024
	truthStatic = 8
)

// truthDesc describes a metric of any oracle.
func truthDesc(id pdu.PMID) pdu.Desc {
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

func truthAtom(id pdu.PMID, inst pdu.InstID) pdu.Atom {
	v := truth(uint32(id), inst)
	switch truthDesc(id).Type {
	case pdu.TypeU64:
		return pdu.Uint64(v)
	case pdu.TypeU32:
		return pdu.Uint32(uint32(v))
	case pdu.TypeString:
		return pdu.String(fmt.Sprintf("%v of %v is %x", inst, id, v))
	}
	return pdu.Float64(float64(v >> 11))
}

// truthInsts are the instances of a metric under a profile, which selects them
// by name or, if it does not, gets the first four.
func truthInsts(d pdu.InDom, p *pdu.Profile) []pdu.InstID {
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

func truthInstance(d pdu.InDom, inst pdu.InstID) pdu.Instance {
	return pdu.Instance{ID: inst, Name: fmt.Sprintf("i%d-%x", inst, truth(uint32(d), inst))}
}

func truthText(ident uint32, kind pdu.TextKind) string {
	return fmt.Sprintf("text %d of %x", int(kind), ident)
}

func truthLabels(ident uint32, class pdu.LabelClass, inst pdu.InstID) string {
	return fmt.Sprintf(`{"class":%d,"inst":%d,"of":"%x"}`, int(class), inst, ident)
}

// truthStoreError is the greatest error of truthStore.
const truthStoreError pdu.Error = -20000

// truthStore is the reply to a store: of all that is possible, one that the
// values determine.
func truthStore(id pdu.PMID, insts []pdu.InstID) pdu.Error {
	sum := uint64(id)
	for _, i := range insts {
		sum += truth(uint32(id), i)
	}
	if sum%3 == 0 {
		return 0
	}
	return truthStoreError - pdu.Error(sum%5000)
}

// truthNames are the names of an oracle's metrics.
func truthNames(b *pmns.Builder, d pdu.Domain) {
	for i := range truthStatic {
		if err := b.Add(fmt.Sprintf("static%d.m%d", d, i), pdu.MakePMID(d, 0, i)); err != nil {
			panic(err)
		}
	}
	if err := b.Add(fmt.Sprintf("dynamic%d", d), pdu.DynamicRoot(d)); err != nil {
		panic(err)
	}
}

// An oracle is an agent that tells the truth.
type oracle struct {
	pmda.Unimplemented
	tree *pmns.Tree // nil if its names are in a file
}

func newOracle(d pdu.Domain) *oracle {
	var b pmns.Builder
	truthNames(&b, d)
	return &oracle{pmda.Unimplemented{Name: fmt.Sprintf("oracle%d", d), Domain: d}, b.Tree()}
}

func (o *oracle) Namespace() *pmns.Tree { return o.tree }

func (o *oracle) Fetch(_ context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	for _, id := range ids {
		w.Begin(id)
		for _, inst := range truthInsts(truthDesc(id).InDom, r.Profile) {
			w.Atom(inst, truthAtom(id, inst))
		}
	}
	return nil
}

func (o *oracle) Desc(_ context.Context, _ *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	return truthDesc(id), nil
}

func (o *oracle) Instances(_ context.Context, _ *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	switch {
	case inst != pdu.NoInst:
		return []pdu.Instance{truthInstance(d, inst)}, nil
	case name != "":
		digits, _, _ := strings.Cut(strings.TrimPrefix(name, "i"), "-")
		n, err := strconv.Atoi(digits)
		if i := truthInstance(d, pdu.InstID(n)); err == nil && i.Name == name {
			return []pdu.Instance{i}, nil
		}
		return nil, pdu.ErrInst
	}
	var all []pdu.Instance
	for _, i := range truthInsts(d, nil) {
		all = append(all, truthInstance(d, i))
	}
	return all, nil
}

func (o *oracle) Text(_ context.Context, _ *pmda.Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	req := of.Request(kind)
	return truthText(req.Ident, req.Text), nil
}

func (o *oracle) Labels(_ context.Context, r *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	insts := []pdu.InstID{pdu.NoInst}
	if of.Class == pdu.LabelInstances {
		insts = truthInsts(of.InDom(), r.Profile)
	}
	var sets []pdu.LabelSet
	for _, inst := range insts {
		set, err := pdu.ParseLabels(of.Class, truthLabels(of.Request().Ident, of.Class, inst), false)
		if err != nil {
			return nil, err
		}
		set.Inst = inst
		sets = append(sets, set)
	}
	return sets, nil
}

func (o *oracle) Store(_ context.Context, _ *pmda.Request, values *pdu.Result) error {
	var code pdu.Error
	for _, s := range values.All() {
		var insts []pdu.InstID
		for inst, a := range s.All(truthDesc(s.PMID).Type) {
			if !a.Equal(truthAtom(s.PMID, inst)) {
				return pdu.ErrBadStore
			}
			insts = append(insts, inst)
		}
		code = truthStore(s.PMID, insts)
	}
	if code != 0 {
		return code
	}
	return nil
}

func (o *oracle) dynamicName(id pdu.PMID) string {
	return fmt.Sprintf("dynamic%d.x%d", o.Domain, id.Item())
}

func (o *oracle) PMID(_ context.Context, _ *pmda.Request, name string) (pdu.PMID, error) {
	_, digits, _ := strings.Cut(name, ".x")
	n, err := strconv.Atoi(digits)
	if err != nil || n < truthStatic || n >= truthItems {
		return pdu.NoPMID, pdu.ErrName
	}
	return pdu.MakePMID(o.Domain, 0, n), nil
}

func (o *oracle) Names(_ context.Context, _ *pmda.Request, id pdu.PMID) ([]string, error) {
	return []string{o.dynamicName(id)}, nil
}

func (o *oracle) Children(context.Context, *pmda.Request, string) ([]pmns.Child, error) {
	return []pmns.Child{{Name: "x8", Leaf: true}, {Name: "x9", Leaf: true}}, nil
}

func (o *oracle) Traverse(_ context.Context, _ *pmda.Request, name string) ([]string, error) {
	return []string{name + ".x8", name + ".x9"}, nil
}
