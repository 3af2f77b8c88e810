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

// expectedNumber is the value of a metric's instance. Instances have no end: a client asks
// for some that it has made up, so that the reply to another request, or of
// another client, is not taken for its own.
func expectedNumber(ident uint32, inst pdu.InstID) uint64 {
	return mix(uint64(ident)<<32 | uint64(uint32(inst)))
}

// exactItems is how many metrics an exactAgent has; those from exactStatic on lie
// below its dynamic root.
const (
	exactItems  = 1024
	exactStatic = 8
)

// expectedDesc describes a metric of any exactAgent.
func expectedDesc(id pdu.PMID) pdu.Desc {
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

func expectedAtom(id pdu.PMID, inst pdu.InstID) pdu.Atom {
	v := expectedNumber(uint32(id), inst)
	switch expectedDesc(id).Type {
	case pdu.TypeU64:
		return pdu.Uint64(v)
	case pdu.TypeU32:
		return pdu.Uint32(uint32(v))
	case pdu.TypeString:
		return pdu.String(fmt.Sprintf("%v of %v is %x", inst, id, v))
	}
	return pdu.Float64(float64(v >> 11))
}

// expectedInsts are the instances of a metric under a profile, which selects them
// by name or, if it does not, gets the first four.
func expectedInsts(d pdu.InDom, p *pdu.Profile) []pdu.InstID {
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

func expectedInstance(d pdu.InDom, inst pdu.InstID) pdu.Instance {
	return pdu.Instance{ID: inst, Name: fmt.Sprintf("i%d-%x", inst, expectedNumber(uint32(d), inst))}
}

func expectedText(ident uint32, kind pdu.TextKind) string {
	return fmt.Sprintf("text %d of %x", int(kind), ident)
}

func expectedLabels(ident uint32, class pdu.LabelClass, inst pdu.InstID) string {
	return fmt.Sprintf(`{"class":%d,"inst":%d,"of":"%x"}`, int(class), inst, ident)
}

// expectedStoreError is the greatest error of expectedStore.
const expectedStoreError pdu.Error = -20000

// expectedStore is the reply to a store: of all that is possible, one that the
// values determine.
func expectedStore(id pdu.PMID, insts []pdu.InstID) pdu.Error {
	sum := uint64(id)
	for _, i := range insts {
		sum += expectedNumber(uint32(id), i)
	}
	if sum%3 == 0 {
		return 0
	}
	return expectedStoreError - pdu.Error(sum%5000)
}

// expectedNames are the names of an exactAgent's metrics.
func expectedNames(b *pmns.Builder, d pdu.Domain) {
	for i := range exactStatic {
		if err := b.Add(fmt.Sprintf("static%d.m%d", d, i), pdu.MakePMID(d, 0, i)); err != nil {
			panic(err)
		}
	}
	if err := b.Add(fmt.Sprintf("dynamic%d", d), pdu.DynamicRoot(d)); err != nil {
		panic(err)
	}
}

// An exactAgent is an agent whose replies are known beforehand: the expected functions give
// them.
type exactAgent struct {
	pmda.Unimplemented
	tree *pmns.Tree // nil if its names are in a file
}

func newExactAgent(d pdu.Domain) *exactAgent {
	var b pmns.Builder
	expectedNames(&b, d)
	return &exactAgent{pmda.Unimplemented{Name: fmt.Sprintf("exact%d", d), Domain: d}, b.Tree()}
}

func (o *exactAgent) Namespace() *pmns.Tree { return o.tree }

func (o *exactAgent) Fetch(_ context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	for _, id := range ids {
		w.Begin(id)
		for _, inst := range expectedInsts(expectedDesc(id).InDom, r.Profile) {
			w.Atom(inst, expectedAtom(id, inst))
		}
	}
	return nil
}

func (o *exactAgent) Desc(_ context.Context, _ *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	return expectedDesc(id), nil
}

func (o *exactAgent) Instances(_ context.Context, _ *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	switch {
	case inst != pdu.NoInst:
		return []pdu.Instance{expectedInstance(d, inst)}, nil
	case name != "":
		digits, _, _ := strings.Cut(strings.TrimPrefix(name, "i"), "-")
		n, err := strconv.Atoi(digits)
		if i := expectedInstance(d, pdu.InstID(n)); err == nil && i.Name == name {
			return []pdu.Instance{i}, nil
		}
		return nil, pdu.ErrInst
	}
	var all []pdu.Instance
	for _, i := range expectedInsts(d, nil) {
		all = append(all, expectedInstance(d, i))
	}
	return all, nil
}

func (o *exactAgent) Text(_ context.Context, _ *pmda.Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	req := of.Request(kind)
	return expectedText(req.Ident, req.Text), nil
}

func (o *exactAgent) Labels(_ context.Context, r *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	insts := []pdu.InstID{pdu.NoInst}
	if of.Class == pdu.LabelInstances {
		insts = expectedInsts(of.InDom(), r.Profile)
	}
	var sets []pdu.LabelSet
	for _, inst := range insts {
		set, err := pdu.ParseLabels(of.Class, expectedLabels(of.Request().Ident, of.Class, inst), false)
		if err != nil {
			return nil, err
		}
		set.Inst = inst
		sets = append(sets, set)
	}
	return sets, nil
}

func (o *exactAgent) Store(_ context.Context, _ *pmda.Request, values *pdu.Result) error {
	var code pdu.Error
	for _, s := range values.All() {
		var insts []pdu.InstID
		for inst, a := range s.All(expectedDesc(s.PMID).Type) {
			if !a.Equal(expectedAtom(s.PMID, inst)) {
				return pdu.ErrBadStore
			}
			insts = append(insts, inst)
		}
		code = expectedStore(s.PMID, insts)
	}
	if code != 0 {
		return code
	}
	return nil
}

func (o *exactAgent) dynamicName(id pdu.PMID) string {
	return fmt.Sprintf("dynamic%d.x%d", o.Domain, id.Item())
}

func (o *exactAgent) PMID(_ context.Context, _ *pmda.Request, name string) (pdu.PMID, error) {
	_, digits, _ := strings.Cut(name, ".x")
	n, err := strconv.Atoi(digits)
	if err != nil || n < exactStatic || n >= exactItems {
		return pdu.NoPMID, pdu.ErrName
	}
	return pdu.MakePMID(o.Domain, 0, n), nil
}

func (o *exactAgent) Names(_ context.Context, _ *pmda.Request, id pdu.PMID) ([]string, error) {
	return []string{o.dynamicName(id)}, nil
}

func (o *exactAgent) Children(context.Context, *pmda.Request, string) ([]pmns.Child, error) {
	return []pmns.Child{{Name: "x8", Leaf: true}, {Name: "x9", Leaf: true}}, nil
}

func (o *exactAgent) Traverse(_ context.Context, _ *pmda.Request, name string) ([]string, error) {
	return []string{name + ".x8", name + ".x9"}, nil
}
