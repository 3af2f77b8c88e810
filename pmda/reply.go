package pmda

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
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

// Instances lists an instance domain of the tables, or looks an instance up. The
// profile does not matter here.
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
		return insts.list, nil
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

// Store sets values one by one through the Store functions of the metrics, and
// stops at the first that fails: what came before it stays set.
func (h tableHandler) Store(ctx context.Context, r *Request, values *pdu.Result) error {
	t := h.a.snapshot()
	for _, s := range values.All() {
		m := t.metric(s.PMID)
		switch {
		case m == nil:
			return pdu.ErrPMID
		case m.store == nil:
			return pdu.ErrPermission
		}
		if err := m.storeSet(ctx, r, h.a, s); err != nil {
			return err
		}
	}
	return nil
}

func (m *metric) storeSet(ctx context.Context, r *Request, a *Agent, s pdu.ValueSet) error {
	var insts *instances
	if m.indom != nil {
		var err error
		if insts, err = m.indom.fresh(ctx, r); err != nil {
			return err
		}
	}
	f := fetches.Get().(*fetch)
	defer f.release()
	f.add(m)
	if err := f.lock(ctx); err != nil {
		return err
	}
	for id, v := range s.All(m.typ) {
		i := pdu.Instance{ID: pdu.NoInst}
		if insts != nil {
			var ok bool
			if i, ok = insts.id(id); !ok {
				return pdu.ErrInst
			}
		}
		if v.Type == pdu.TypeUnknown {
			return pdu.ErrBadStore // the bytes of the value are malformed
		}
		if err := m.storeValue(ctx, r, a, i, v); err != nil {
			return a.logStore(m, i, err)
		}
		m.storeLog.reset()
	}
	return nil
}

// storeValue calls the Store function, whose panic is an error.
func (m *metric) storeValue(ctx context.Context, r *Request, a *Agent, i pdu.Instance, v pdu.Atom) (err error) {
	defer func() {
		if p := recover(); p != nil {
			a.panicked(m, "Store", p)
			err = reported{pdu.ErrGeneric}
		}
	}()
	return m.store(ctx, r, i, v)
}

// PMID returns pdu.ErrName: the names of the tables are not dynamic.
func (tableHandler) PMID(context.Context, *Request, string) (pdu.PMID, error) {
	return pdu.NoPMID, pdu.ErrName
}

// Names returns pdu.ErrPMID.
func (tableHandler) Names(context.Context, *Request, pdu.PMID) ([]string, error) {
	return nil, pdu.ErrPMID
}

// Children returns pdu.ErrName.
func (tableHandler) Children(context.Context, *Request, string) ([]pmns.Child, error) {
	return nil, pdu.ErrName
}

// Traverse returns pdu.ErrName.
func (tableHandler) Traverse(context.Context, *Request, string) ([]string, error) {
	return nil, pdu.ErrName
}

// Labels makes sets of the labels in the tables.
func (h tableHandler) Labels(ctx context.Context, r *Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	t := h.a.snapshot()
	class := of.Class
	switch class {
	case pdu.LabelContext:
		return nil, nil
	case pdu.LabelDomain:
		if h.a.DomainLabels == "" {
			return defaultLabels(h.a.Name)
		}
		return labels(class, h.a.DomainLabels)
	case pdu.LabelCluster:
		return labels(class, h.a.ClusterLabels[of.PMID().Cluster()])
	case pdu.LabelItem:
		if m := t.metric(of.PMID()); m != nil {
			return labels(class, m.labels)
		}
		return nil, nil
	case pdu.LabelInDom:
		if in := t.indom(of.InDom()); in != nil {
			return labels(class, in.Labels)
		}
		return nil, nil
	case pdu.LabelInstances:
		return h.instanceLabels(ctx, r, t.indom(of.InDom()), of.InDom())
	}
	return nil, pdu.ErrType
}

// labels makes one set, or none of an empty object.
func labels(class pdu.LabelClass, json string) ([]pdu.LabelSet, error) {
	if json == "" {
		return nil, nil
	}
	s, err := pdu.ParseLabels(class, json, false)
	if err != nil {
		return nil, err
	}
	return []pdu.LabelSet{s}, nil
}

// instanceLabels makes a set for every instance that the client wants, empty for
// one without labels.
func (h tableHandler) instanceLabels(ctx context.Context, r *Request, in *InDom, id pdu.InDom) ([]pdu.LabelSet, error) {
	if in == nil {
		return nil, nil
	}
	insts, err := in.fresh(ctx, r)
	if err != nil {
		return nil, err
	}
	rule := r.Profile.For(id)
	var sets []pdu.LabelSet
	for _, i := range insts.list {
		if rule.Includes(i.ID) {
			sets = append(sets, h.labelsOf(in, i))
		}
	}
	return sets, nil
}

// labelsOf makes the label set of one instance.
func (h tableHandler) labelsOf(in *InDom, i pdu.Instance) pdu.LabelSet {
	if in.InstanceLabels == nil {
		return pdu.LabelSet{Inst: i.ID}
	}
	text := in.InstanceLabels(i)
	s, err := pdu.ParseLabels(pdu.LabelInstances, text, false)
	if err != nil {
		if !in.labelsWrong.Swap(true) { // many instances are likely to have the same fault
			h.a.warn(err, "bad labels of an instance", slog.String("indom", in.Name), slog.String("instance", i.Name), slog.String("labels", excerpt(text)))
		}
		s = pdu.LabelSet{Err: pdu.FromError(err)}
	}
	s.Inst = i.ID
	return s
}

// checkLabels refuses text that is not an object of labels; none is right.
func checkLabels(field, json string) error {
	if _, err := pdu.ParseLabels(pdu.LabelItem, json, false); err != nil {
		return fmt.Errorf("%s %s: %w", field, excerpt(json), err)
	}
	return nil
}

// excerpt is the quoted beginning of a text.
func excerpt(s string) string {
	const most = 60
	if len(s) <= most {
		return fmt.Sprintf("%#q", s)
	}
	return fmt.Sprintf("%#q...", strings.ToValidUTF8(s[:most], ""))
}

// LabelJSON is labels as a JSON text, for DomainLabels, Labels and InstanceLabels.
// The values are what encoding/json can marshal. If the labels are wrong, such as
// one with a bad name, it returns the reason, an invalid text that registration
// rejects.
func LabelJSON(labels map[string]any) string {
	if len(labels) == 0 {
		return ""
	}
	s, err := pdu.MakeLabels(pdu.LabelItem, labels, false)
	if err != nil {
		return err.Error()
	}
	return string(s.JSON)
}

// defaultLabels is the default label set of an agent's domain, {"agent":"NAME"};
// of the name a leading "pmda" and a trailing " DSO" are left out, as in the C
// library.
func defaultLabels(name string) ([]pdu.LabelSet, error) {
	name = strings.TrimSuffix(strings.TrimPrefix(name, "pmda"), " DSO")
	s, err := pdu.MakeLabels(pdu.LabelDomain, map[string]string{"agent": name}, false)
	if err != nil {
		return nil, err
	}
	return []pdu.LabelSet{s}, nil
}
