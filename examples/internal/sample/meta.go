package sample

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

const (
	itemMeta      = 86
	itemMetaType  = 87
	itemMetaInDom = 88
	itemMetaSem   = 89
	itemMetaUnits = 90
)

// meta is the descriptor of a metric. Clients set its parts one by one, without checks.
type meta struct{ typ, indom, sem, units uint32 }

func (s *sample) registerMeta() {
	m := &s.dynamic.meta
	*m = meta{
		typ: uint32(pdu.Type32), indom: uint32(pdu.NoInDom), sem: uint32(pdu.SemDiscrete),
		units: uint32(pdu.SpaceByte | pdu.PerSec),
	}
	add(s, itemMeta, pmda.Metric[int32]{Name: "dynamic.meta.metric", Value: failing[int32](pmda.NoValue)}) // see write
	for i, part := range []struct {
		name string
		v    *uint32
	}{{"type", &m.typ}, {"indom", &m.indom}, {"sem", &m.sem}, {"units", &m.units}} {
		add(s, itemMetaType+i, pmda.Metric[uint32]{Name: "dynamic.meta.pmdesc." + part.name, Sem: pdu.SemDiscrete, Units: pdu.UnitCount, Value: variable(part.v)})
		storeWord(s, itemMetaType+i, storesInto(part.v))
	}
}

// desc returns the descriptor.
func (m *meta) desc(id pdu.PMID) pdu.Desc {
	return pdu.Desc{PMID: id, Type: pdu.Type(int32(m.typ)), InDom: pdu.InDom(m.indom), Sem: pdu.Sem(int32(m.sem)), Units: pdu.Units(m.units)}
}

// value returns 42 as a value of the type, or an Atom of pdu.TypeUnknown.
func (m *meta) value() pdu.Atom {
	switch pdu.Type(int32(m.typ)) {
	case pdu.Type32:
		return pdu.Int32(42)
	case pdu.TypeU32:
		return pdu.Uint32(42)
	case pdu.Type64:
		return pdu.Int64(42)
	case pdu.TypeU64:
		return pdu.Uint64(42)
	case pdu.TypeFloat:
		return pdu.Float32(42)
	case pdu.TypeDouble:
		return pdu.Float64(42)
	case pdu.TypeString:
		return pdu.String("42")
	}
	return pdu.Atom{Type: pdu.TypeUnknown}
}

// err returns the error of a fetch of the metric. If the type has no value, PCP's agent fails the
// whole fetch or crashes.
func (m *meta) err() error {
	if m.value().Type == pdu.TypeUnknown {
		return pdu.ErrType
	}
	return nil
}

// write writes the value for every instance of the domain, or for one if the domain does not exist.
func (m *meta) write(ctx context.Context, h pmda.Handler, r *pmda.Request, w *pdu.ResultWriter) {
	d := pdu.InDom(m.indom)
	list := []pdu.Instance{{ID: pdu.NoInst}}
	rule := pdu.InDomProfile{}
	if d != pdu.NoInDom {
		if of, err := h.Instances(ctx, r, d, pdu.NoInst, ""); err == nil {
			list, rule = of, r.Profile.For(d)
		}
	}
	for _, i := range list {
		if rule.Includes(i.ID) {
			w.Atom(i.ID, m.value())
		}
	}
}
