package pmda

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/pcp-go/pcp/pdu"
)

// Fetch asks the agent for values.
func (m *Remote) Fetch(ctx context.Context, r *Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	ask := &pdu.Fetch{Context: r.Context, PMIDs: ids}
	return m.exchange(ctx, r, true, ask, pdu.KindResult, func(body []byte) error {
		m.result.Format = pdu.FormatLowRes
		if err := m.result.Decode(body); err != nil {
			return err
		}
		if m.result.Len() != len(ids) {
			return fmt.Errorf("agent answered %d of %d metrics", m.result.Len(), len(ids))
		}
		for i, s := range m.result.All() {
			if s.PMID != ids[i] {
				return fmt.Errorf("agent answered metric %v instead of %v", s.PMID, ids[i])
			}
			w.Copy(s)
		}
		w.Changed |= m.change()
		return nil
	})
}

// change is what the agent tells in place of a time.
func (m *Remote) change() pdu.Change {
	if m.result.Time.IsZero() {
		return 0
	}
	const allowed = pdu.LabelChange | pdu.NamesChange
	sec := m.result.Time.Unix()
	if sec&^int64(allowed) != 0 {
		m.cfg.Logger.Warn("agent sent a bogus state change", m.attrs(slog.Int64("change", sec))...)
	}
	return pdu.Change(sec) & allowed
}

// Desc asks the agent for a descriptor.
func (m *Remote) Desc(ctx context.Context, r *Request, id pdu.PMID) (pdu.Desc, error) {
	var p pdu.DescReply
	err := m.exchange(ctx, r, false, pdu.DescReq{PMID: id}, pdu.KindDesc, func(body []byte) error {
		if err := p.Decode(body); err != nil {
			return err
		}
		if p.Desc.PMID != id {
			return fmt.Errorf("agent described metric %v instead of %v", p.Desc.PMID, id)
		}
		return nil
	})
	return p.Desc, err
}

// Instances asks the agent about an instance domain. What the agent leaves out
// of its answer is filled in from the question.
func (m *Remote) Instances(ctx context.Context, r *Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	var p pdu.InstanceReply
	err := m.exchange(ctx, r, false, pdu.InstanceReq{InDom: d, Inst: inst, Name: name}, pdu.KindInstance, p.Decode)
	if err != nil {
		return nil, err
	}
	if len(p.Instances) == 1 {
		switch i := &p.Instances[0]; {
		case inst != pdu.NoInst && i.ID == pdu.NoInst:
			i.ID = inst
		case name != "" && i.Name == "":
			i.Name = name
		}
	}
	return p.Instances, nil
}

// Text asks the agent for help text.
func (m *Remote) Text(ctx context.Context, r *Request, ident uint32, kind pdu.TextKind) (string, error) {
	var p pdu.TextReply
	err := m.exchange(ctx, r, false, pdu.TextReq{Ident: ident, Text: kind}, pdu.KindText, p.Decode)
	return p.Text, err
}

// Store asks the agent to set values.
func (m *Remote) Store(ctx context.Context, r *Request, values *pdu.Result) error {
	return m.exchange(ctx, r, true, values, pdu.KindError, nil)
}

// PMID asks the agent for the metric of a name.
func (m *Remote) PMID(ctx context.Context, r *Request, name string) (pdu.PMID, error) {
	var p pdu.PMIDList
	err := m.exchange(ctx, r, false, pdu.NameList{Names: []string{name}}, pdu.KindPMNSIDs, p.Decode)
	switch {
	case err != nil:
		return pdu.NoPMID, err
	case p.Status < 0:
		return pdu.NoPMID, pdu.Error(p.Status)
	case len(p.PMIDs) != 1 || p.PMIDs[0] == pdu.NoPMID:
		return pdu.NoPMID, pdu.ErrName
	}
	return p.PMIDs[0], nil
}

// Names asks the agent for the names of a metric.
func (m *Remote) Names(ctx context.Context, r *Request, id pdu.PMID) ([]string, error) {
	p, err := m.names(ctx, r, pdu.PMIDList{PMIDs: []pdu.PMID{id}})
	return p.Names, err
}

// Children asks the agent for the names below a name.
func (m *Remote) Children(ctx context.Context, r *Request, name string, traverse bool) (pdu.NameList, error) {
	if traverse {
		return m.names(ctx, r, pdu.TraverseReq{Name: name})
	}
	return m.names(ctx, r, pdu.ChildReq{Name: name, Status: true})
}

func (m *Remote) names(ctx context.Context, r *Request, ask pdu.PDU) (pdu.NameList, error) {
	var p pdu.NameList
	err := m.exchange(ctx, r, false, ask, pdu.KindPMNSNames, p.Decode)
	if err == nil && p.Err < 0 {
		err = p.Err
	}
	return p, err
}

// Labels asks the agent for labels.
func (m *Remote) Labels(ctx context.Context, r *Request, ident uint32, class pdu.LabelClass) ([]pdu.LabelSet, error) {
	var p pdu.LabelReply
	err := m.exchange(ctx, r, true, pdu.LabelReq{Ident: ident, Class: class}, pdu.KindLabel, func(body []byte) error {
		// The texts alias the body, which another request overwrites.
		if err := p.Decode(append([]byte(nil), body...)); err != nil {
			return err
		}
		if p.Ident != ident || p.Class != class {
			return fmt.Errorf("agent labelled %#x of class %#x instead of %#x of %#x", p.Ident, int(p.Class), ident, int(class))
		}
		return nil
	})
	return p.Sets, err
}
