package pmda

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// keepResult is how many bytes of a result are kept for the next.
const keepResult = 1 << 20

// Fetch asks the agent for values. It allocates nothing in steady state.
func (m *Remote) Fetch(ctx context.Context, r *Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	if err := m.enter(ctx, r); err != nil {
		return err
	}
	defer m.leave()
	m.fetch.Context, m.fetch.PMIDs = r.Context, ids
	body, err := m.ask(ctx, r, true, &m.fetch, pdu.KindResult)
	m.fetch.PMIDs = nil // the caller's
	if err != nil {
		return err
	}
	if err := m.take(body, ids, w); err != nil {
		return m.lost(err)
	}
	if len(body) > keepResult {
		m.result = pdu.Result{}
	}
	return nil
}

// take writes the sets of a result, which answer to ids.
func (m *Remote) take(body []byte, ids []pdu.PMID, w *pdu.ResultWriter) error {
	if err := m.result.Decode(body); err != nil {
		return err
	}
	if m.result.Len() != len(ids) {
		return fmt.Errorf("agent answered %d of %d metrics", m.result.Len(), len(ids))
	}
	for i, id := range ids {
		if got := m.result.At(i).PMID; got != id {
			return fmt.Errorf("agent answered metric %v instead of %v", got, id)
		}
	}
	for i := range ids {
		w.Copy(m.result.At(i))
	}
	w.Changed |= m.change(&m.result) | m.late
	m.late = 0
	return nil
}

// change is what the agent tells in place of a time. Agents that send a time
// tell nothing that makes sense; they are logged once.
func (m *Remote) change(r *pdu.Result) pdu.Change {
	if r.Time.IsZero() {
		return 0
	}
	sec := r.Time.Unix()
	if sec&^int64(agentChanges) != 0 && !m.bogus {
		m.bogus = true
		m.cfg.Logger.Warn("agent sent a bogus state change", m.attrs(slog.Int64("change", sec))...)
	}
	return pdu.Change(sec) & agentChanges
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
	switch {
	case err != nil:
		return nil, err
	case inst == pdu.NoInst && name == "":
		return p.Instances, nil
	case len(p.Instances) == 0:
		return nil, pdu.ErrInst
	}
	one := &p.Instances[0]
	if one.ID == pdu.NoInst {
		one.ID = inst
	}
	if one.Name == "" {
		one.Name = name
	}
	return p.Instances[:1], nil
}

// Text asks the agent for help text.
func (m *Remote) Text(ctx context.Context, r *Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	var p pdu.TextReply
	err := m.exchange(ctx, r, false, of.Request(kind), pdu.KindText, p.Decode)
	return p.Text, err
}

// Store asks the agent to set values.
func (m *Remote) Store(ctx context.Context, r *Request, values *pdu.Result) error {
	return m.exchange(ctx, r, false, stored{values}, pdu.KindError, func([]byte) error { return nil })
}

// stored are values in the only format that agents know, without a time.
type stored struct{ *pdu.Result }

func (stored) Kind() pdu.Kind { return pdu.KindResult }

func (s stored) Append(b []byte) ([]byte, error) {
	v := *s.Result
	v.Format, v.Time = pdu.FormatLowRes, time.Time{}
	return v.Append(b)
}

// PMID asks the agent for the metric of a name.
func (m *Remote) PMID(ctx context.Context, r *Request, name string) (pdu.PMID, error) {
	var p pdu.PMIDList
	err := m.exchange(ctx, r, false, pdu.NameList{Names: []string{name}}, pdu.KindPMNSIDs, func(body []byte) error {
		if err := p.Decode(body); err != nil {
			return err
		}
		if p.Status >= 0 && len(p.PMIDs) != 1 {
			return fmt.Errorf("agent gave %d metrics of one name", len(p.PMIDs))
		}
		return nil
	})
	switch {
	case err != nil:
		return pdu.NoPMID, err
	case p.Status < 0:
		return pdu.NoPMID, pdu.Error(p.Status)
	case p.PMIDs[0] == pdu.NoPMID:
		return pdu.NoPMID, pdu.ErrName
	}
	return p.PMIDs[0], nil
}

// Names asks the agent for the names of a metric.
func (m *Remote) Names(ctx context.Context, r *Request, id pdu.PMID) ([]string, error) {
	p, err := m.names(ctx, r, pdu.PMIDList{PMIDs: []pdu.PMID{id}})
	if err == nil && len(p.Names) == 0 {
		err = pdu.ErrPMID
	}
	return p.Names, err
}

// Children asks the agent for what is one level below a name. What the agent does
// not say to be inner is a leaf.
func (m *Remote) Children(ctx context.Context, r *Request, name string) ([]pmns.Child, error) {
	p, err := m.names(ctx, r, pdu.ChildReq{Name: name, Status: true})
	if err != nil {
		return nil, err
	}
	children := make([]pmns.Child, len(p.Names))
	for i, name := range p.Names {
		children[i] = pmns.Child{Name: name, Leaf: p.Statuses == nil || p.Statuses[i] == pdu.Leaf}
	}
	return children, nil
}

// Traverse asks the agent for the names of all metrics at or below a name.
func (m *Remote) Traverse(ctx context.Context, r *Request, name string) ([]string, error) {
	p, err := m.names(ctx, r, pdu.TraverseReq{Name: name})
	return p.Names, err
}

func (m *Remote) names(ctx context.Context, r *Request, ask pdu.PDU) (pdu.NameList, error) {
	var p pdu.NameList
	err := m.exchange(ctx, r, false, ask, pdu.KindPMNSNames, p.Decode)
	if err == nil && p.Err < 0 {
		return pdu.NameList{}, p.Err
	}
	return p, err
}

// Labels asks the agent for labels.
func (m *Remote) Labels(ctx context.Context, r *Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	var p pdu.LabelReply
	req := of.Request()
	err := m.exchange(ctx, r, true, req, pdu.KindLabel, func(body []byte) error {
		// The texts alias the body, which another request overwrites.
		if err := p.Decode(bytes.Clone(body)); err != nil {
			return err
		}
		if p.Ident != req.Ident || p.Class != req.Class {
			return fmt.Errorf("agent labelled %#x of class %#x instead of %#x of %#x", p.Ident, int(p.Class), req.Ident, int(req.Class))
		}
		return nil
	})
	return p.Sets, err
}
