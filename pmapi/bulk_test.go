package pmapi_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

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
