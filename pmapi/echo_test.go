package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmns"
)

const allFeatures = pdu.FeatureLabels | pdu.FeatureHighRes | pdu.FeatureDescs

// echo replies to a request with values that identify it, and not to PROFILE.
func echo(_ pdu.Header, p pdu.PDU) []byte {
	switch p := p.(type) {
	case *pdu.SetProfile:
		return []byte{}
	case *pdu.Fetch:
		var w pdu.ResultWriter
		for _, id := range p.PMIDs {
			w.Begin(id)
			w.Uint32(pdu.NoInst, uint32(id))
		}
		f := pdu.FormatLowRes
		if p.HighRes {
			f = pdu.FormatHighRes
		}
		return frame(w.PDU(f))
	case *pdu.Result:
		return frame(pdu.Status{Code: pdu.Error(-int32(p.At(0).PMID))})
	case *pdu.DescReq:
		return frame(pdu.DescReply{Desc: echoDesc(p.PMID)})
	case *pdu.DescsReq:
		var r pdu.DescsReply
		for _, id := range p.PMIDs {
			r.Descs = append(r.Descs, echoDesc(id))
		}
		return frame(r)
	case *pdu.InstanceReq:
		i := pdu.Instance{ID: p.Inst, Name: echoName(p.InDom)}
		switch {
		case p.Inst != pdu.NoInst:
			i = pdu.Instance{ID: pdu.NoInst, Name: echoName(p.Inst)}
		case p.Name != "":
			i = pdu.Instance{ID: pdu.InstID(number(p.Name))}
		default:
			i.ID = pdu.InstID(p.InDom.Serial())
		}
		return frame(pdu.InstanceReply{InDom: p.InDom, Instances: []pdu.Instance{i}})
	case *pdu.TextReq:
		return frame(pdu.TextReply{Ident: p.Ident, Text: echoName(p.Ident)})
	case *pdu.LabelReq:
		return frame(pdu.LabelReply{Ident: p.Ident, Class: p.Class, Sets: []pdu.LabelSet{{Inst: pdu.NoInst, JSON: []byte(echoLabels(p.Ident))}}})
	case *pdu.NameList:
		var r pdu.PMIDList
		for _, n := range p.Names {
			r.PMIDs = append(r.PMIDs, pdu.PMID(number(n)))
		}
		return frame(r)
	case *pdu.PMIDList:
		return frame(pdu.NameList{Names: []string{echoName(p.PMIDs[0])}})
	case *pdu.ChildReq:
		return frame(pdu.NameList{Names: []string{p.Name}, Statuses: []int32{pdu.Leaf}})
	case *pdu.TraverseReq:
		return frame(pdu.NameList{Names: []string{p.Name + ".leaf"}})
	}
	return nil
}

func echoDesc(id pdu.PMID) pdu.Desc {
	return pdu.Desc{PMID: id, Type: pdu.TypeU32, InDom: pdu.InDom(id), Sem: pdu.SemInstant, Units: pdu.Units(id) << 8}
}

func echoName[T ~uint32 | ~int32](n T) string { return fmt.Sprintf("n.%d", uint32(n)) }

func echoLabels(n uint32) string { return fmt.Sprintf(`{"n":%d}`, n) }

func number(name string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "n."))
	if err != nil {
		return -1
	}
	return n
}

// An apiCall is a call of one of the methods of a Context. n makes the reply of echo unique. do
// returns the method's error, or a *wrongReply.
type apiCall struct {
	name string
	do   func(ctx context.Context, c *pmapi.Context, n uint32) error
}

// A wrongReply is a reply that belongs to another call.
type wrongReply struct{ want, got any }

func (m *wrongReply) Error() string { return fmt.Sprintf("got %v, want %v", m.got, m.want) }

func same[T comparable](want, got T, err error) error {
	if err == nil && want != got {
		return &wrongReply{want, got}
	}
	return err
}

// first is the only element of a list.
func first[T any](list []T, err error) (one T, _ error) {
	if err == nil && len(list) != 1 {
		return one, &wrongReply{1, len(list)}
	}
	if err == nil {
		one = list[0]
	}
	return one, err
}

var apiCalls = []apiCall{
	{"Lookup", func(ctx context.Context, c *pmapi.Context, n uint32) error {
		id, err := first(c.Lookup(ctx, []string{echoName(n)}))
		return same(pdu.PMID(n), id, err)
	}},
	{"Lookup of many", func(ctx context.Context, c *pmapi.Context, n uint32) error {
		names := make([]string, 10_000) // three requests
		for i := range names {
			names[i] = echoName(n + uint32(i))
		}
		ids, err := c.Lookup(ctx, names)
		for i, id := range ids {
			if err == nil {
				err = same(pdu.PMID(n+uint32(i)), id, err)
			}
		}
		return err
	}},
	{"Names", func(ctx context.Context, c *pmapi.Context, n uint32) error {
		name, err := first(c.Names(ctx, pdu.PMID(n)))
		return same(echoName(n), name, err)
	}},
	{"Children", func(ctx context.Context, c *pmapi.Context, n uint32) error {
		child, err := first(c.Children(ctx, echoName(n)))
		return same(pmns.Child{Name: echoName(n), Leaf: true}, child, err)
	}},
	{"Traverse", func(ctx context.Context, c *pmapi.Context, n uint32) error {
		name, err := first(c.Traverse(ctx, echoName(n)))
		return same(echoName(n)+".leaf", name, err)
	}},
	{"Desc", func(ctx context.Context, c *pmapi.Context, n uint32) error {
		d, err := c.Desc(ctx, pdu.PMID(n))
		return same(echoDesc(pdu.PMID(n)), d, err)
	}},
	{"Descs", func(ctx context.Context, c *pmapi.Context, n uint32) error {
		ids := make([]pdu.PMID, 300)
		for i := range ids {
			ids[i] = pdu.PMID(n) + pdu.PMID(i)
		}
		descs, err := c.Descs(ctx, ids)
		for i, d := range descs {
			if err == nil {
				err = same(echoDesc(ids[i]), d, err)
			}
		}
		return err
	}},
	{"Instances", func(ctx context.Context, c *pmapi.Context, n uint32) error {
		d := pdu.InDom(n)
		i, err := first(c.Instances(ctx, d))
		return same(pdu.Instance{ID: pdu.InstID(d.Serial()), Name: echoName(d)}, i, err)
	}},
	{"InstID", func(ctx context.Context, c *pmapi.Context, n uint32) error {
		i, err := c.InstID(ctx, 7, echoName(n))
		return same(pdu.InstID(n), i, err)
	}},
	{"InstName", func(ctx context.Context, c *pmapi.Context, n uint32) error {
		name, err := c.InstName(ctx, 7, pdu.InstID(n))
		return same(echoName(n), name, err)
	}},
	{"Text", func(ctx context.Context, c *pmapi.Context, n uint32) error {
		text, err := c.Text(ctx, pdu.PMID(n), pdu.TextHelp)
		return same(echoName(n), text, err)
	}},
	{"InDomText", func(ctx context.Context, c *pmapi.Context, n uint32) error {
		text, err := c.InDomText(ctx, pdu.InDom(n), pdu.TextOneLine)
		return same(echoName(n), text, err)
	}},
	{"InDomLabels", func(ctx context.Context, c *pmapi.Context, n uint32) error {
		l, err := c.InDomLabels(ctx, pdu.InDom(n))
		return same(echoLabels(n), string(l.JSON), err)
	}},
	{"InstanceLabels", func(ctx context.Context, c *pmapi.Context, n uint32) error {
		l, err := first(c.InstanceLabels(ctx, pdu.InDom(n)))
		return same(echoLabels(n), string(l.JSON), err)
	}},
	{"Labels", func(ctx context.Context, c *pmapi.Context, n uint32) error {
		sets, err := c.Labels(ctx, pdu.PMID(n))
		if err != nil || len(sets) != 5 {
			return same(5, len(sets), err)
		}
		return same(echoLabels(n), string(sets[4].JSON), nil)
	}},
	{"Fetch", func(ctx context.Context, c *pmapi.Context, n uint32) error {
		var r pdu.Result
		if err := c.Fetch(ctx, []pdu.PMID{pdu.PMID(n), 1}, &r); err != nil {
			return err
		}
		return same(fmt.Sprint(n), r.At(0).Atom(0, pdu.TypeU32).String(), nil)
	}},
	{"Store", func(ctx context.Context, c *pmapi.Context, n uint32) error {
		var w pdu.ResultWriter
		w.Begin(pdu.PMID(n))
		w.Uint32(pdu.NoInst, n)
		r, err := w.Result()
		if err != nil {
			return err
		}
		err = c.StoreResult(ctx, r)
		if code, ok := errors.AsType[pdu.Error](err); ok && code == pdu.Error(-int32(n)) {
			return nil
		}
		if err == nil {
			return &wrongReply{pdu.Error(-int32(n)), nil}
		}
		return err
	}},
	{"HostName", func(ctx context.Context, c *pmapi.Context, n uint32) error {
		this, err := os.Hostname()
		return same(this, c.HostName(ctx), err)
	}},
}

// Every call gets its own reply, from collectors with all features and with only one.
func TestReplies(t *testing.T) {
	for _, features := range []pdu.Features{allFeatures, pdu.FeatureLabels} {
		c := open(t, pmapi.Dialer{}, replying(features, echo))
		for i, q := range apiCalls {
			if err := q.do(t.Context(), c, uint32(1000+i)); err != nil {
				t.Errorf("%s: %v", q.name, err)
			}
		}
	}
	c := open(t, pmapi.Dialer{}, replying(0, echo))
	if _, err := c.ContextLabels(t.Context()); !errors.Is(err, pdu.ErrNoLabels) {
		t.Error(err)
	}
}
