package pmda

import (
	"context"
	"fmt"

	"github.com/pcp-go/pcp/internal/wording"
	"github.com/pcp-go/pcp/pdu"
)

// Desc describes a metric of the table.
func (h tableHandler) Desc(_ context.Context, _ *Request, id pdu.PMID) (pdu.Desc, error) {
	t := h.a.snapshot()
	m := t.metric(id)
	if m == nil {
		return pdu.Desc{}, pdu.ErrPMID
	}
	return t.desc(m), nil
}

// Instances lists an instance domain of the tables, or looks an instance up. It ignores the
// profile.
func (h tableHandler) Instances(ctx context.Context, r *Request, id pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	in := h.a.snapshot().indom(id)
	if in == nil {
		return nil, pdu.ErrInDom
	}
	insts, err := in.fresh(ctx, r)
	if err != nil {
		return nil, err
	}
	var i pdu.Instance
	ok := false // stays false if both are set
	switch {
	case inst == pdu.NoInst && name == "":
		return insts.list(), nil
	case name == "":
		i, ok = insts.id(inst)
	case inst == pdu.NoInst:
		i, ok = insts.name(name)
	}
	if !ok {
		return nil, pdu.ErrInst
	}
	return []pdu.Instance{i}, nil
}

// Text returns a help text of the tables.
func (h tableHandler) Text(_ context.Context, _ *Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	t := h.a.snapshot()
	var line, help string
	if id, ok := of.PMID(); ok {
		m := t.metric(id)
		if m == nil {
			return "", pdu.ErrText
		}
		line, help = m.text, m.help
	} else {
		id, _ := of.InDom()
		in := t.indom(id)
		if in == nil {
			return "", pdu.ErrText
		}
		line, help = in.Text, in.Help
	}
	if kind&pdu.TextOneLine == 0 {
		line = help
	}
	if line == "" {
		return "", pdu.ErrText
	}
	return line, nil
}

// Store sets values one by one through the Store functions of the metrics. It stops at the first
// error; earlier values stay set. An unknown instance is pdu.ErrInst, even for a singular metric,
// where C agents ignore it.
func (h tableHandler) Store(ctx context.Context, r *Request, values *pdu.Result) error {
	t := h.a.snapshot()
	for _, s := range values.All() {
		if m := t.metric(s.PMID); m == nil {
			return h.storeError(s.PMID.String(), pdu.ErrPMID)
		} else if m.store == nil {
			return h.storeError(m.name, pdu.ErrPermission)
		} else if err := m.storeSet(ctx, r, h.a, s); err != nil {
			return h.storeError(m.name, err)
		}
	}
	return nil
}

// storeError returns the error of a failed store, with the name of the metric.
func (h tableHandler) storeError(metric string, err error) error {
	return &OpError{Op: "store", Agent: h.a.Name, Name: metric, Err: err}
}

func (m *metric) storeSet(ctx context.Context, r *Request, a *Agent, s pdu.ValueSet) error {
	var insts instanceTable
	if m.indom != nil {
		var err error
		if insts, err = m.indom.fresh(ctx, r); err != nil {
			return err
		}
	}
	f := fetches.Get().(*fetch)
	defer f.release()
	f.addSources(m)
	if err := f.lock(ctx); err != nil {
		return err
	}
	for at := range s.Len() {
		id, v := s.Inst(at), s.Atom(at, m.typ)
		i := pdu.Instance{ID: pdu.NoInst}
		if insts != nil {
			var ok bool
			if i, ok = insts.id(id); !ok {
				return fmt.Errorf("instance %d: %w", id, pdu.ErrInst)
			}
		} else if id != pdu.NoInst {
			return fmt.Errorf("instance %d of a singular metric: %w", id, pdu.ErrInst)
		}
		if v.Type == pdu.TypeUnknown {
			if s.Atom(at, pdu.TypeUnknown).Type == pdu.Type32 {
				return fmt.Errorf("an integer of 32 bits for a metric of type %s: %w", wording.Type(m.typ), pdu.ErrBadStore)
			}
			return fmt.Errorf("the bytes of the value are malformed: %w", pdu.ErrBadStore)
		}
		if err := m.storeValue(ctx, r, a, i, v); err != nil {
			return a.logStore(ctx, m, i, err)
		}
		m.storeLog.reset()
	}
	return nil
}

// storeValue calls the Store function. It returns an error if that panics.
func (m *metric) storeValue(ctx context.Context, r *Request, a *Agent, i pdu.Instance, v pdu.Atom) (err error) {
	defer func() {
		if p := recover(); p != nil {
			a.panicked(m, "Store", p)
			err = reported{pdu.ErrGeneric}
		}
	}()
	return m.store(ctx, r, i, v)
}

// Labels returns label sets from the labels in the tables and those of LabelsOf.
func (h tableHandler) Labels(ctx context.Context, r *Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	t := h.a.snapshot()
	var text string
	switch of.Class {
	case pdu.LabelContext:
	case pdu.LabelDomain:
		text = h.a.DomainLabels
	case pdu.LabelCluster:
		text = h.a.ClusterLabels[of.PMID().Cluster()]
	case pdu.LabelItem:
		if m := t.metric(of.PMID()); m != nil {
			text = m.labels
		}
	case pdu.LabelInDom:
		if in := t.indom(of.InDom()); in != nil {
			text = in.Labels
		}
	case pdu.LabelInstances:
		return h.instanceLabels(ctx, r, t.indom(of.InDom()), of.InDom())
	default:
		return nil, pdu.ErrType
	}
	return h.labels(ctx, r, of, text)
}
