package pmapi_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmns"
)

// The metrics of event records are there as others are, with names from the
// collector and without.
func TestEventMetrics(t *testing.T) {
	var b pmns.Builder
	if err := b.Add("colour.red", pdu.MakePMID(7, 0, 1)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*pmapi.Context{
		"remote": local(t, colours(t)),
		"local":  open(t, pmapi.Dialer{Names: b.Tree()}, answering(allFeatures, echo)),
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			all, err := c.Traverse(ctx, "")
			if err != nil || len(all) < 3 || !slices.Equal(all[len(all)-2:], []string{"event.flags", "event.missed"}) {
				t.Errorf("names %q, %v", all, err)
			}
			for at, want := range map[string][]string{"event": {"event.flags", "event.missed"}, "event.missed": {"event.missed"}} {
				got, err := c.Traverse(ctx, at)
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("below %s: %v (-want +got):\n%s", at, err, diff)
				}
			}
			if _, err := c.Traverse(ctx, "event.flags.x"); !errors.Is(err, pdu.ErrName) {
				t.Errorf("below event.flags.x: %v", err)
			}
			root, err := c.Children(ctx, "")
			if err != nil || len(root) < 2 || root[len(root)-1] != (pmapi.Child{Name: "event"}) {
				t.Errorf("children %v, %v", root, err)
			}
			children, err := c.Children(ctx, "event")
			if diff := cmp.Diff([]pmapi.Child{{Name: "flags", Leaf: true}, {Name: "missed", Leaf: true}}, children); diff != "" || err != nil {
				t.Errorf("children of event: %v (-want +got):\n%s", err, diff)
			}
			if children, err := c.Children(ctx, "event.flags"); children != nil || err != nil {
				t.Errorf("children of event.flags: %v, %v", children, err)
			}
			ids, err := c.Lookup(ctx, all[0], "event.missed", "event.flags")
			if diff := cmp.Diff([]pdu.PMID{ids[0], pmapi.EventMissedPMID, pmapi.EventFlagsPMID}, ids); diff != "" || err != nil {
				t.Errorf("lookup: %v (-want +got):\n%s", err, diff)
			}
			if n, err := c.Names(ctx, pmapi.EventFlagsPMID); !slices.Equal(n, []string{"event.flags"}) || err != nil {
				t.Errorf("names %q, %v", n, err)
			}
		})
	}
}

func TestEventMetricValues(t *testing.T) {
	c, ctx := local(t, colours(t)), t.Context()
	known, err := c.Lookup(ctx, "paint.used")
	if err != nil {
		t.Fatal(err)
	}
	ids := []pdu.PMID{pmapi.EventFlagsPMID, known[0], pdu.MakePMID(400, 77, 7), pmapi.EventMissedPMID}
	descs, err := c.Descs(ctx, ids)
	if !errors.Is(err, pdu.ErrPMID) || len(descs) != 4 {
		t.Fatalf("%v, %v", descs, err)
	}
	want := pdu.Desc{PMID: pmapi.EventMissedPMID, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}
	if descs[3] != want || descs[0].PMID != pmapi.EventFlagsPMID || descs[1].PMID != known[0] || descs[2].PMID != pdu.NoPMID {
		t.Errorf("descriptors %v", descs)
	}
	if d, err := c.Desc(ctx, pmapi.EventMissedPMID); d != want || err != nil {
		t.Errorf("descriptor %v, %v", d, err)
	}
	var r pdu.Result
	if err := c.Fetch(ctx, ids, &r); err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		s := r.At(i)
		event := i == 0 || i == 3
		if s.PMID != id || event && (s.Err() != nil || s.Len() != 0) || i == 1 && s.Err() != nil || i == 2 && s.Err() == nil {
			t.Errorf("set %d: %v, %d values, %v", i, s.PMID, s.Len(), s.Err())
		}
	}
	if r.Time.IsZero() {
		t.Error("the time is lost")
	}
	for _, kind := range []pdu.TextKind{pdu.TextOneLine, pdu.TextHelp} {
		text, err := c.Text(ctx, pmapi.EventFlagsPMID, kind)
		if text == "" || err != nil {
			t.Errorf("%v: %q, %v", kind, text, err)
		}
		texts, err := c.Texts(ctx, ids, kind)
		if err != nil || len(texts) != 4 || texts[0] != (pmapi.HelpText{Text: text}) || texts[2].Err == nil {
			t.Errorf("%v: %v, %v", kind, texts, err)
		}
	}
}

// A collector's own metric of the name hides ours.
func TestEventMetricHidden(t *testing.T) {
	own := pdu.MakePMID(9, 0, 1)
	c := open(t, pmapi.Dialer{}, answering(allFeatures, func(_ pdu.Header, p pdu.PDU) []byte {
		switch p.(type) {
		case *pdu.NameList:
			return frame(pdu.PMIDList{Status: 1, PMIDs: []pdu.PMID{own}})
		case *pdu.TraverseReq:
			return frame(pdu.NameList{Names: []string{"event.flags"}})
		case *pdu.ChildReq:
			return frame(pdu.NameList{Names: []string{"flags"}, Statuses: []int32{pdu.Leaf}})
		}
		return nil
	}))
	if ids, err := c.Lookup(t.Context(), "event.flags"); len(ids) != 1 || ids[0] != own || err != nil {
		t.Errorf("%v, %v", ids, err)
	}
	if names, err := c.Traverse(t.Context(), "event"); !slices.Equal(names, []string{"event.flags", "event.missed"}) || err != nil {
		t.Errorf("%q, %v", names, err)
	}
	if children, err := c.Children(t.Context(), "event"); len(children) != 2 || err != nil {
		t.Errorf("%v, %v", children, err)
	}
}

// Many questions at once get the answers that each alone would get.
func TestBulk(t *testing.T) {
	texts := map[uint32][2]string{1: {"one", "long"}, 2: {"two", ""}, 4: {"four", "-"}}
	counters := new(pdu.Counters)
	c := open(t, pmapi.Dialer{Counters: counters}, answering(allFeatures, func(_ pdu.Header, p pdu.PDU) []byte {
		switch p := p.(type) {
		case *pdu.TextReq:
			text := texts[p.Ident][p.Text>>1&1]
			switch {
			case p.Ident == 5:
				return frame(pdu.Status{Code: pdu.ErrAgain})
			case text == "":
				return frame(pdu.Status{Code: pdu.ErrText})
			case text == "-":
				text = ""
			}
			return frame(pdu.TextReply{Ident: p.Ident, Text: text})
		case *pdu.LabelReq:
			if p.Ident == 5 {
				return frame(pdu.Status{Code: pdu.ErrAgain})
			}
			reply := pdu.LabelReply{Ident: p.Ident, Class: p.Class}
			if p.Ident == 1 {
				set, err := pdu.ParseLabels(p.Class, `{"a":1}`, false)
				if err != nil {
					t.Error(err)
				}
				reply.Sets = []pdu.LabelSet{set}
			}
			if p.Ident == 3 {
				reply.Ident = 4
			}
			return frame(reply)
		}
		return nil
	}))
	ctx, ids := t.Context(), []pdu.PMID{1, 2, 3, 4, 5}
	for _, tt := range []struct {
		kind pdu.TextKind
		want []pmapi.HelpText
	}{
		{pdu.TextOneLine, []pmapi.HelpText{{Text: "one"}, {Text: "two"}, {Err: pdu.ErrText}, {Text: "four"}, {Err: pdu.ErrAgain}}},
		{pdu.TextHelp, []pmapi.HelpText{{Text: "long"}, {Text: "two"}, {Err: pdu.ErrText}, {Text: "four"}, {Err: pdu.ErrAgain}}},
		{pdu.TextHelp | pdu.TextDirect, []pmapi.HelpText{{Text: "long"}, {Err: pdu.ErrText}, {Err: pdu.ErrText}, {}, {Err: pdu.ErrAgain}}},
	} {
		got, err := c.Texts(ctx, ids, tt.kind)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%v: %v (-want +got):\n%s", tt.kind, err, diff)
		}
		for i, id := range ids {
			text, err := c.Text(ctx, id, tt.kind)
			if text != tt.want[i].Text || !errors.Is(err, tt.want[i].Err) {
				t.Errorf("%v of %v: %q, %v", tt.kind, id, text, err)
			}
		}
	}
	sets, err := c.ItemLabelSets(ctx, ids)
	if err != nil || len(sets) != len(ids) {
		t.Fatalf("%v, %v", sets, err)
	}
	for i, want := range []struct {
		text string
		err  pdu.Error
	}{{`{"a":1}`, 0}, {"{}", 0}, {"", pdu.ErrIPC}, {"{}", 0}, {"", pdu.ErrAgain}} {
		if sets[i].Err != want.err || want.err == 0 && sets[i].String() != want.text {
			t.Errorf("labels of %v: %v, %v", ids[i], sets[i], sets[i].Err)
		}
	}
	if _, out := counters.Count(pdu.KindLabelReq); out != uint64(len(ids)) {
		t.Errorf("%d requests for labels counted", out)
	}
	for _, err := range []error{second(c.Texts(ctx, nil, pdu.TextHelp)), second(c.ItemLabelSets(ctx, nil))} {
		if !errors.Is(err, pdu.ErrTooSmall) {
			t.Errorf("without metrics: %v", err)
		}
	}
	if _, err := c.Texts(ctx, ids, pdu.TextInDom); !errors.Is(err, pdu.ErrArg) {
		t.Errorf("another kind: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestBulkFails(t *testing.T) {
	c := open(t, pmapi.Dialer{}, answering(pdu.FeatureDescs, func(pdu.Header, pdu.PDU) []byte { return nil }))
	if _, err := c.ItemLabelSets(t.Context(), []pdu.PMID{1}); !errors.Is(err, pdu.ErrNoLabels) {
		t.Errorf("labels where there are none: %v", err)
	}
	if _, err := c.Texts(t.Context(), []pdu.PMID{1, 2}, pdu.TextHelp); !errors.Is(err, pdu.ErrIPC) {
		t.Errorf("texts of a collector that hangs up: %v", err)
	}
}

// The agent in C pmcd does not say which domain's instances it lists.
func TestInstancesOfAnyDomain(t *testing.T) {
	c := open(t, pmapi.Dialer{}, func(p *pdutest.Peer) {
		_ = pdutest.CollectorHello(allFeatures)(p)
		_, _, _ = p.Receive()
		_ = pdutest.Send(pdu.InstanceReply{InDom: 0x1234, Instances: []pdu.Instance{{ID: 3, Name: "three"}}})(p)
	})
	got, err := c.Instances(t.Context(), 77)
	if diff := cmp.Diff([]pdu.Instance{{ID: 3, Name: "three"}}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
