package pmapi

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
)

func (h *host) Descs(ctx context.Context, ids []pdu.PMID) ([]pdu.Desc, source.Errors, error) {
	l, err := h.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	descs, codes, err := l.descs(ids, maxDescs)
	if err == nil {
		err = l.describeUnknown(ids, descs, codes)
	}
	if err == nil {
		h.known.addDescs(descs)
	}
	return descs, errorsOf(codes), h.end(ctx, l, err)
}

// maxDescs limits the metrics of one request for descriptors, if the collector supports several.
const maxDescs = 4096

// descs describes metrics, as many at once as the collector can, but at most step.
// A code is why there is no descriptor, or 0 if that is not known: only the reply to a
// request about one metric has a code.
func (l *link) descs(ids []pdu.PMID, step int) ([]pdu.Desc, []pdu.Error, error) {
	descs, codes := make([]pdu.Desc, len(ids)), make([]pdu.Error, len(ids))
	want := pdu.KindDescs
	if step == 1 || len(ids) == 1 || l.features&pdu.FeatureDescs == 0 {
		step, want = 1, pdu.KindDesc
	}
	n := 0
	for some := range slices.Chunk(ids, step) {
		req := pdu.PDU(pdu.DescsReq{PMIDs: some})
		if want == pdu.KindDesc {
			req = pdu.DescReq{PMID: some[0]}
		}
		if err := l.queue(req); err != nil {
			return nil, nil, err
		}
		n++
	}
	err := l.readReplies(n, want, func(i int, body []byte, err error) error {
		at := i * step
		end := min(at+step, len(ids))
		return decodeDescReply(want, body, err, ids[at:end], descs[at:end], codes[at:end])
	})
	return descs, codes, err
}

// decodeDescReply decodes the reply to one request for descriptors: a code is about all
// of them.
func decodeDescReply(kind pdu.Kind, body []byte, err error, ids []pdu.PMID, descs []pdu.Desc, codes []pdu.Error) error {
	code, isCode := err.(pdu.Error)
	if err == nil {
		err = decodeDescs(kind, body, descs)
	}
	if err != nil && !isCode {
		return err
	}
	for i, d := range descs {
		switch {
		case isCode:
			codes[i] = code
		case d.PMID == pdu.NoPMID && kind == pdu.KindDesc:
			codes[i] = pdu.ErrPMID
		case d.PMID == pdu.NoPMID: // without a code
		case d.PMID != ids[i]:
			codes[i] = pdu.ErrIPC
		default:
			continue
		}
		descs[i] = noDesc
	}
	return nil
}

// decodeDescs decodes a reply that has as many descriptors as descs has room for.
func decodeDescs(kind pdu.Kind, body []byte, descs []pdu.Desc) error {
	if kind == pdu.KindDesc {
		var p pdu.DescReply
		err := p.Decode(body)
		descs[0] = p.Desc
		return err
	}
	var p pdu.DescsReply
	if err := p.Decode(body); err != nil {
		return err
	}
	if copy(descs, p.Descs); len(p.Descs) != len(descs) {
		return fmt.Errorf("%d descriptors of %d metrics: %w", len(p.Descs), len(descs), pdu.ErrIPC)
	}
	return nil
}

// describeUnknown requests each metric that has neither a descriptor nor a code again, alone, to
// get the code. It first requests one metric of each agent. If that agent is not available at
// present, its other metrics get the same code and are not requested.
func (l *link) describeUnknown(ids []pdu.PMID, descs []pdu.Desc, codes []pdu.Error) error {
	first := map[pdu.Domain]int{}
	var firsts, others []int
	for i, id := range ids {
		if descs[i].PMID != pdu.NoPMID || codes[i] != 0 {
			continue
		}
		if _, ok := first[id.Domain()]; !ok {
			first[id.Domain()] = i
			firsts = append(firsts, i)
		} else {
			others = append(others, i)
		}
	}
	if err := l.describeEach(ids, descs, codes, firsts); err != nil {
		return err
	}
	others = slices.DeleteFunc(others, func(i int) bool {
		code := codes[first[ids[i].Domain()]]
		temporary := isTemporary(code)
		if temporary {
			codes[i] = code
		}
		return temporary
	})
	return l.describeEach(ids, descs, codes, others)
}

// describeEach describes the metrics at some indexes, with one request for each.
func (l *link) describeEach(ids []pdu.PMID, descs []pdu.Desc, codes []pdu.Error, indexes []int) error {
	if len(indexes) == 0 {
		return nil
	}
	some := make([]pdu.PMID, len(indexes))
	for n, i := range indexes {
		some[n] = ids[i]
	}
	l.wait()
	again, why, err := l.descs(some, 1)
	if err != nil {
		return err
	}
	for n, i := range indexes {
		descs[i], codes[i] = again[n], why[n]
	}
	return nil
}

func (h *host) Instances(ctx context.Context, req pdu.InstanceReq) ([]pdu.Instance, error) {
	p := instanceReply{to: req}
	if err := h.roundTrip(ctx, req, pdu.KindInstance, &p); err != nil {
		return nil, err
	}
	if p.all() {
		h.known.addInstances(req.InDom, p.Instances)
	}
	return p.Instances, nil
}

// An instanceReply is the reply to a request for all instances of a domain, or for one.
type instanceReply struct {
	pdu.InstanceReply
	to pdu.InstanceReq
}

func (p *instanceReply) all() bool { return p.to.Inst == pdu.NoInst && p.to.Name == "" }

func (p *instanceReply) Decode(body []byte) error { return p.decode(body, p.InstanceReply.Decode) }

func (p *instanceReply) DecodeInPlace(body []byte) error {
	return p.decode(body, p.InstanceReply.DecodeInPlace)
}

func (p *instanceReply) decode(body []byte, decode func([]byte) error) error {
	if err := checkCount(body, 4, "instances", maxInstances); err != nil {
		return err
	}
	if err := decode(body); err != nil {
		return err
	}
	// Its InDom means nothing: agents within the C pmcd leave it unset.
	if !p.all() && len(p.Instances) != 1 {
		return fmt.Errorf("%d instances in place of one: %w", len(p.Instances), pdu.ErrIPC)
	}
	return nil
}

func (h *host) Texts(ctx context.Context, reqs []pdu.TextReq) ([]string, source.Errors, error) {
	l, err := h.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	texts, errs, err := l.texts(reqs)
	return texts, errs, h.end(ctx, l, err)
}

func (l *link) texts(reqs []pdu.TextReq) (texts []string, errs source.Errors, err error) {
	for _, r := range reqs {
		if err := l.queue(r); err != nil {
			return nil, nil, err
		}
	}
	texts = make([]string, len(reqs))
	err = l.readReplies(len(reqs), pdu.KindText, func(i int, body []byte, err error) error {
		var p pdu.TextReply // the byte order of its Ident is undefined
		if err == nil {
			err = l.decode(&p, body)
		}
		if err != nil {
			errs.Set(i, len(reqs), err)
			return nil
		}
		texts[i] = p.Text
		return nil
	})
	return texts, errs, err
}

func (h *host) Labels(ctx context.Context, reqs []pdu.LabelReq, profile *pdu.Profile) ([][]pdu.LabelSet, source.Errors, error) {
	l, err := h.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	sets, errs, err := l.labels(reqs, profile)
	return sets, errs, h.end(ctx, l, err)
}

func (l *link) labels(reqs []pdu.LabelReq, profile *pdu.Profile) (sets [][]pdu.LabelSet, errs source.Errors, err error) {
	if l.features&pdu.FeatureLabels == 0 {
		return nil, nil, pdu.ErrNoLabels
	}
	for _, r := range reqs {
		if r.Class == pdu.LabelInstances {
			if err := l.queueProfile(profile); err != nil {
				return nil, nil, err
			}
		}
		if err := l.queue(r); err != nil {
			return nil, nil, err
		}
	}
	sets = make([][]pdu.LabelSet, len(reqs))
	err = l.readReplies(len(reqs), pdu.KindLabel, func(i int, body []byte, err error) error {
		if err == nil {
			err = checkLabels(body, reqs[i])
		}
		if err == nil {
			if !l.pdus.Keep() {
				body = bytes.Clone(body) // the texts alias it
			}
			sets[i], err = decodeLabels(body, reqs[i])
		}
		if err != nil {
			errs.Set(i, len(reqs), err)
		}
		return nil
	})
	return sets, errs, err
}

// checkLabels returns an error if a reply has more label sets than it may.
func checkLabels(body []byte, req pdu.LabelReq) error {
	if req.Class == pdu.LabelInstances {
		return checkCount(body, 12, "label sets", maxLabelSets)
	}
	if err := checkCount(body, 12, "label sets", 1); err != nil {
		return fmt.Errorf("%w: %w", pdu.ErrIPC, err)
	}
	return nil
}

// decodeLabels decodes a reply with labels, whose texts alias the body.
func decodeLabels(body []byte, req pdu.LabelReq) ([]pdu.LabelSet, error) {
	var p pdu.LabelReply
	err := p.Decode(body)
	switch {
	case err != nil:
	case p.Ident != req.Ident || p.Class != req.Class:
		err = fmt.Errorf("labels of %v %#x in place of %v %#x: %w", p.Class, p.Ident, req.Class, req.Ident, pdu.ErrIPC)
	case req.Class != pdu.LabelInstances && len(p.Sets) == 1 && p.Sets[0].Err != 0:
		err = p.Sets[0].Err
	}
	if err != nil {
		return nil, err
	}
	return p.Sets, nil
}

// HostName returns the value of pmcd.hostname. Its fetch reports neither a gap nor changes in the
// collector; the user's next fetch reports them.
func (h *host) HostName(ctx context.Context) (string, error) {
	l, err := h.begin(ctx)
	if err != nil {
		return "", err
	}
	var r pdu.Result
	ids, _, err := l.lookup([]string{"pmcd.hostname"})
	if err == nil && ids[0] == pdu.NoPMID {
		err = pdu.ErrName
	}
	if err == nil {
		err = l.fetchValues(ids, cmp.Or(l.profile, everything), &r)
		l.changes |= r.Changed
	}
	if err = h.end(ctx, l, err); err != nil {
		return "", err
	}
	if r.At(0).Len() != 1 {
		return "", pdu.ErrValue
	}
	return pdu.As[string](r.At(0).Atom(0, pdu.TypeString))
}
