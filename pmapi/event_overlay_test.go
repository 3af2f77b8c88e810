package pmapi_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmns"
)

// The metrics of event records have names, descriptors and texts, whether the collector has their
// names or not.
func TestEventMetrics(t *testing.T) {
	var b pmns.Builder
	if err := b.Add("colour.red", pdu.MakePMID(7, 0, 1)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*pmapi.Context{
		"remote": local(t, colours(t)),
		"local":  open(t, pmapi.Dialer{Names: b.Tree()}, replying(allFeatures, echo)),
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
			if err != nil || len(root) < 2 || root[len(root)-1] != (pmns.Child{Name: "event"}) {
				t.Errorf("children %v, %v", root, err)
			}
			children, err := c.Children(ctx, "event")
			if diff := cmp.Diff([]pmns.Child{{Name: "flags", Leaf: true}, {Name: "missed", Leaf: true}}, children); diff != "" || err != nil {
				t.Errorf("children of event: %v (-want +got):\n%s", err, diff)
			}
			if children, err := c.Children(ctx, "event.flags"); children != nil || err != nil {
				t.Errorf("children of event.flags: %v, %v", children, err)
			}
			ids, err := c.Lookup(ctx, []string{all[0], "event.missed", "event.flags"})
			if diff := cmp.Diff([]pdu.PMID{ids[0], pdu.EventMissedPMID, pdu.EventFlagsPMID}, ids); diff != "" || err != nil {
				t.Errorf("lookup: %v (-want +got):\n%s", err, diff)
			}
			if n, err := c.Names(ctx, pdu.EventFlagsPMID); !slices.Equal(n, []string{"event.flags"}) || err != nil {
				t.Errorf("names %q, %v", n, err)
			}
		})
	}
}

func TestEventMetricValues(t *testing.T) {
	c, ctx := local(t, colours(t)), t.Context()
	known, err := c.Lookup(ctx, []string{"paint.used"})
	if err != nil {
		t.Fatal(err)
	}
	ids := []pdu.PMID{pdu.EventFlagsPMID, known[0], pdu.MakePMID(400, 77, 7), pdu.EventMissedPMID}
	descs, err := c.Descs(ctx, ids)
	if !errors.Is(err, pdu.ErrPMID) || len(descs) != 4 {
		t.Fatalf("%v, %v", descs, err)
	}
	want := pdu.Desc{PMID: pdu.EventMissedPMID, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}
	if descs[3] != want || descs[0].PMID != pdu.EventFlagsPMID || descs[1].PMID != known[0] || descs[2].PMID != pdu.NoPMID {
		t.Errorf("descriptors %v", descs)
	}
	if d, err := c.Desc(ctx, pdu.EventMissedPMID); d != want || err != nil {
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
		text, err := c.Text(ctx, pdu.EventFlagsPMID, kind)
		if text == "" || err != nil {
			t.Errorf("%v: %q, %v", kind, text, err)
		}
		texts, err := c.Texts(ctx, ids, kind)
		if len(texts) != 4 || texts[0] != text || pmapi.ErrorAt(err, 0) != nil || pmapi.ErrorAt(err, 2) == nil {
			t.Errorf("%v: %v, %v", kind, texts, err)
		}
	}
}

// A collector's own metric of the name hides ours.
func TestEventMetricHidden(t *testing.T) {
	own := pdu.MakePMID(9, 0, 1)
	c := open(t, pmapi.Dialer{}, replying(allFeatures, func(_ pdu.Header, p pdu.PDU) []byte {
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
	if ids, err := c.Lookup(t.Context(), []string{"event.flags"}); len(ids) != 1 || ids[0] != own || err != nil {
		t.Errorf("%v, %v", ids, err)
	}
	if names, err := c.Traverse(t.Context(), "event"); !slices.Equal(names, []string{"event.flags", "event.missed"}) || err != nil {
		t.Errorf("%q, %v", names, err)
	}
	if children, err := c.Children(t.Context(), "event"); len(children) != 2 || err != nil {
		t.Errorf("%v, %v", children, err)
	}
}
