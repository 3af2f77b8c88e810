package pmda

import (
	"context"
	"fmt"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// The methods here decode a request, ask the Handler, and make the answer.

// agentChanges is what an agent may say in the place of a time.
const agentChanges = pdu.ChangeLabels | pdu.ChangeNames

func (s *session) fetchValues(ctx context.Context, from int32, body []byte) (pdu.PDU, error) {
	if err := s.fetch.Decode(body); err != nil {
		return nil, err
	}
	s.context = s.fetch.Context
	s.writer.Reset()
	if err := s.h.Fetch(ctx, s.request(from), s.fetch.PMIDs, &s.writer); err != nil {
		return nil, s.refusal(pdu.KindFetch, err)
	}
	if n := s.writer.Len(); n != len(s.fetch.PMIDs) {
		return nil, s.refusal(pdu.KindFetch, fmt.Errorf("%d sets for %d metrics: %w", n, len(s.fetch.PMIDs), pdu.ErrIPC))
	}
	s.writer.Time = time.Time{}
	s.writer.Changed &= agentChanges
	return s.writer.PDU(pdu.FormatLowRes), nil
}

func (s *session) desc(ctx context.Context, from int32, body []byte) (pdu.PDU, error) {
	var p pdu.DescReq
	if err := p.Decode(body); err != nil {
		return nil, err
	}
	d, err := s.h.Desc(ctx, s.request(from), p.PMID)
	if err != nil {
		return nil, s.refusal(pdu.KindDescReq, err)
	}
	return pdu.DescReply{Desc: d}, nil
}

// instances answers in the forms of the C library: of one instance only what was
// not known. An agent need not cope with the domain that is none, over which the
// C library loops for ever.
func (s *session) instances(ctx context.Context, from int32, body []byte) (pdu.PDU, error) {
	var p pdu.InstanceReq
	if err := p.Decode(body); err != nil {
		return nil, err
	}
	if p.InDom == pdu.NoInDom {
		return nil, pdu.ErrInDom
	}
	list, err := s.h.Instances(ctx, s.request(from), p.InDom, p.Inst, p.Name)
	if err != nil {
		return nil, s.refusal(pdu.KindInstanceReq, err)
	}
	if p.Inst == pdu.NoInst && p.Name == "" {
		return pdu.InstanceReply{InDom: p.InDom, Instances: list}, nil
	}
	if len(list) == 0 {
		return nil, pdu.ErrInst
	}
	one := pdu.Instance{ID: list[0].ID}
	if p.Name == "" {
		one = pdu.Instance{ID: pdu.NoInst, Name: list[0].Name}
	}
	return pdu.InstanceReply{InDom: p.InDom, Instances: []pdu.Instance{one}}, nil
}

func (s *session) text(ctx context.Context, from int32, body []byte) (pdu.PDU, error) {
	var p pdu.TextReq
	if err := p.Decode(body); err != nil {
		return nil, err
	}
	text, err := s.h.Text(ctx, s.request(from), p.Ident, p.Text&^pdu.TextDirect)
	if err != nil {
		return nil, s.refusal(pdu.KindTextReq, err)
	}
	return pdu.TextReply{Ident: p.Ident, Text: text}, nil
}

func (s *session) storeValues(ctx context.Context, from int32, body []byte) (pdu.PDU, error) {
	if err := s.store.Decode(body); err != nil {
		return nil, err
	}
	if err := s.store.Validate(); err != nil {
		return nil, err
	}
	for _, set := range s.store.All() {
		if set.Len() == 0 {
			return nil, pdu.ErrValue
		}
	}
	if err := s.h.Store(ctx, s.request(from), &s.store); err != nil {
		return nil, s.refusal(pdu.KindResult, err)
	}
	return pdu.Status{}, nil
}

func (s *session) pmid(ctx context.Context, from int32, body []byte) (pdu.PDU, error) {
	var p pdu.NameList
	if err := p.Decode(body); err != nil {
		return nil, err
	}
	if len(p.Names) != 1 {
		return nil, pdu.ErrIPC
	}
	id, err := s.h.PMID(ctx, s.request(from), p.Names[0])
	if err != nil {
		return nil, s.refusal(pdu.KindPMNSNames, err)
	}
	return pdu.PMIDList{PMIDs: []pdu.PMID{id}}, nil
}

func (s *session) names(ctx context.Context, from int32, body []byte) (pdu.PDU, error) {
	var p pdu.PMIDList
	if err := p.Decode(body); err != nil {
		return nil, err
	}
	switch {
	case p.Status < 0:
		return nil, pdu.Error(p.Status)
	case len(p.PMIDs) != 1:
		return nil, pdu.ErrIPC
	}
	names, err := s.h.Names(ctx, s.request(from), p.PMIDs[0])
	if err == nil && len(names) == 0 {
		err = pdu.ErrPMID
	}
	if err != nil {
		return nil, s.refusal(pdu.KindPMNSIDs, err)
	}
	return pdu.NameList{Names: names}, nil
}

func (s *session) children(ctx context.Context, from int32, body []byte) (pdu.PDU, error) {
	var p pdu.ChildReq
	if err := p.Decode(body); err != nil {
		return nil, err
	}
	list, err := s.below(ctx, from, pdu.KindPMNSChild, p.Name, false)
	if err != nil {
		return nil, err
	}
	if !p.Status {
		list.Statuses = nil
	}
	return list, nil
}

func (s *session) traverse(ctx context.Context, from int32, body []byte) (pdu.PDU, error) {
	var p pdu.TraverseReq
	if err := p.Decode(body); err != nil {
		return nil, err
	}
	list, err := s.below(ctx, from, pdu.KindPMNSTraverse, p.Name, true)
	if err != nil {
		return nil, err
	}
	list.Statuses = nil
	return list, nil
}

func (s *session) below(ctx context.Context, from int32, k pdu.Kind, name string, traverse bool) (pdu.NameList, error) {
	list, err := s.h.Children(ctx, s.request(from), name, traverse)
	if err == nil && list.Err < 0 {
		err = list.Err
	}
	if err != nil {
		return pdu.NameList{}, s.refusal(k, err)
	}
	return list, nil
}

// labels strips the bits that are not of a class, and sends no more sets than
// the class has.
func (s *session) labels(ctx context.Context, from int32, body []byte) (pdu.PDU, error) {
	var p pdu.LabelReq
	if err := p.Decode(body); err != nil {
		return nil, err
	}
	class := p.Class &^ pdu.LabelClass(pdu.LabelCompound|pdu.LabelOptional)
	sets, err := s.h.Labels(ctx, s.request(from), p.Ident, class)
	if err != nil {
		return nil, s.refusal(pdu.KindLabelReq, err)
	}
	if class != pdu.LabelInstances && len(sets) > 1 {
		sets = sets[:1]
	}
	return pdu.LabelReply{Ident: p.Ident, Class: p.Class, Sets: sets}, nil
}
