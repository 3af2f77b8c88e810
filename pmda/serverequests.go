package pmda

import (
	"context"
	"fmt"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// requestMethod returns the method that serves requests of a type: it decodes the request, calls
// the Handler and returns the reply, or the error to send as reply. It returns nil for PDUs that
// expect no reply.
func requestMethod(k pdu.Kind) func(s *session, ctx context.Context, from int32, body []byte) (pdu.PDU, error) {
	switch k {
	case pdu.KindFetch:
		return (*session).serveFetch
	case pdu.KindDescReq:
		return (*session).serveDesc
	case pdu.KindInstanceReq:
		return (*session).serveInstances
	case pdu.KindTextReq:
		return (*session).serveText
	case pdu.KindResult:
		return (*session).serveStore
	case pdu.KindPMNSNames:
		return (*session).servePMID
	case pdu.KindPMNSIDs:
		return (*session).serveNames
	case pdu.KindPMNSChild:
		return (*session).serveChildren
	case pdu.KindPMNSTraverse:
		return (*session).serveTraverse
	case pdu.KindLabelReq:
		return (*session).serveLabels
	}
	return nil
}

// agentChanges are the changes that an agent can report, in the time field of a result.
const agentChanges = pdu.ChangeLabels | pdu.ChangeNames

func (s *session) serveFetch(ctx context.Context, from int32, body []byte) (pdu.PDU, error) {
	if err := s.fetch.Decode(body); err != nil {
		return nil, err
	}
	s.context = s.fetch.Context
	s.writer.Reset()
	if err := s.h.Fetch(ctx, s.requestOf(from), s.fetch.PMIDs, &s.writer); err != nil {
		return nil, s.replyError(pdu.KindFetch, err)
	}
	if n := s.writer.Len(); n != len(s.fetch.PMIDs) {
		return nil, s.replyError(pdu.KindFetch, fmt.Errorf("%d sets for %d metrics: %w", n, len(s.fetch.PMIDs), pdu.ErrIPC))
	}
	s.writer.Time = time.Time{}
	s.writer.Changed &= agentChanges
	return s.writer.PDU(pdu.FormatLowRes), nil
}

func (s *session) serveDesc(ctx context.Context, from int32, body []byte) (pdu.PDU, error) {
	var p pdu.DescReq
	if err := p.Decode(body); err != nil {
		return nil, err
	}
	d, err := s.h.Desc(ctx, s.requestOf(from), p.PMID)
	if err != nil {
		return nil, s.replyError(pdu.KindDescReq, err)
	}
	return pdu.DescReply{Desc: d}, nil
}

// serveInstances replies like the C library: with all instances, or for a single one with only the
// part, ID or name, that the request does not have. pdu.NoInDom does not reach the Handler; it
// sends the C library into an endless loop.
func (s *session) serveInstances(ctx context.Context, from int32, body []byte) (pdu.PDU, error) {
	var p pdu.InstanceReq
	if err := p.Decode(body); err != nil {
		return nil, err
	}
	if p.InDom == pdu.NoInDom {
		return nil, pdu.ErrInDom
	}
	list, err := s.h.Instances(ctx, s.requestOf(from), p.InDom, p.Inst, p.Name)
	if err != nil {
		return nil, s.replyError(pdu.KindInstanceReq, err)
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

func (s *session) serveText(ctx context.Context, from int32, body []byte) (pdu.PDU, error) {
	var p pdu.TextReq
	if err := p.Decode(body); err != nil {
		return nil, err
	}
	text, err := s.h.Text(ctx, s.requestOf(from), p.Target(), p.Text&^(pdu.TextPMID|pdu.TextInDom|pdu.TextDirect))
	if err != nil {
		return nil, s.replyError(pdu.KindTextReq, err)
	}
	return pdu.TextReply{Ident: p.Ident, Text: text}, nil
}

func (s *session) serveStore(ctx context.Context, from int32, body []byte) (pdu.PDU, error) {
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
	if err := s.h.Store(ctx, s.requestOf(from), &s.store); err != nil {
		return nil, s.replyError(pdu.KindResult, err)
	}
	return pdu.Status{}, nil
}

func (s *session) servePMID(ctx context.Context, from int32, body []byte) (pdu.PDU, error) {
	var p pdu.NameList
	if err := p.Decode(body); err != nil {
		return nil, err
	}
	if len(p.Names) != 1 {
		return nil, pdu.ErrIPC
	}
	id, err := s.h.PMID(ctx, s.requestOf(from), p.Names[0])
	if err != nil {
		return nil, s.replyError(pdu.KindPMNSNames, err)
	}
	return pdu.PMIDList{PMIDs: []pdu.PMID{id}}, nil
}

func (s *session) serveNames(ctx context.Context, from int32, body []byte) (pdu.PDU, error) {
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
	names, err := s.h.Names(ctx, s.requestOf(from), p.PMIDs[0])
	if err == nil && len(names) == 0 {
		err = pdu.ErrPMID
	}
	if err != nil {
		return nil, s.replyError(pdu.KindPMNSIDs, err)
	}
	return pdu.NameList{Names: names}, nil
}

func (s *session) serveChildren(ctx context.Context, from int32, body []byte) (pdu.PDU, error) {
	var p pdu.ChildReq
	if err := p.Decode(body); err != nil {
		return nil, err
	}
	children, err := s.h.Children(ctx, s.requestOf(from), p.Name)
	if err != nil {
		return nil, s.replyError(pdu.KindPMNSChild, err)
	}
	reply := pdu.NameList{Names: make([]string, len(children))}
	if p.Status {
		reply.Statuses = make([]int32, len(children))
	}
	for i, c := range children {
		reply.Names[i] = c.Name
		if p.Status && !c.Leaf {
			reply.Statuses[i] = pdu.NonLeaf
		}
	}
	return reply, nil
}

func (s *session) serveTraverse(ctx context.Context, from int32, body []byte) (pdu.PDU, error) {
	var p pdu.TraverseReq
	if err := p.Decode(body); err != nil {
		return nil, err
	}
	names, err := s.h.Traverse(ctx, s.requestOf(from), p.Name)
	if err != nil {
		return nil, s.replyError(pdu.KindPMNSTraverse, err)
	}
	return pdu.NameList{Names: names}, nil
}

// serveLabels limits the reply to the number of sets that the class can have.
func (s *session) serveLabels(ctx context.Context, from int32, body []byte) (pdu.PDU, error) {
	var p pdu.LabelReq
	if err := p.Decode(body); err != nil {
		return nil, err
	}
	of := p.Target()
	sets, err := s.h.Labels(ctx, s.requestOf(from), of)
	if err != nil {
		return nil, s.replyError(pdu.KindLabelReq, err)
	}
	if of.Class != pdu.LabelInstances && len(sets) > 1 {
		sets = sets[:1]
	}
	return pdu.LabelReply{Ident: p.Ident, Class: p.Class, Sets: sets}, nil
}
