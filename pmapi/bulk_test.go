package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A request about many items gets the same results as one request for each item.
func TestBulk(t *testing.T) {
	texts := map[uint32][2]string{1: {"one", "long"}, 2: {"two", ""}, 4: {"four", "-"}}
	counters := new(pdu.Counters)
	c := open(t, pmapi.Dialer{Counters: counters}, replying(allFeatures, func(_ pdu.Header, p pdu.PDU) []byte {
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
		want []string
		errs []pdu.Error
	}{
		{pdu.TextOneLine, []string{"one", "two", "", "four", ""}, []pdu.Error{2: pdu.ErrText, 4: pdu.ErrAgain}},
		{pdu.TextHelp, []string{"long", "two", "", "four", ""}, []pdu.Error{2: pdu.ErrText, 4: pdu.ErrAgain}},
		{pdu.TextHelp | pdu.TextDirect, []string{"long", "", "", "", ""}, []pdu.Error{1: pdu.ErrText, 2: pdu.ErrText, 4: pdu.ErrAgain}},
	} {
		got, err := c.Texts(ctx, ids, tt.kind)
		if diff := cmp.Diff(tt.want, got) + cmp.Diff(tt.errs, codes(t, err, len(ids))); diff != "" {
			t.Errorf("%v: %v (-want +got):\n%s", tt.kind, err, diff)
		}
		for i, id := range ids {
			text, alone := c.Text(ctx, id, tt.kind)
			if text != tt.want[i] || pdu.FromError(alone) != tt.errs[i] || fmt.Sprint(alone) != fmt.Sprint(pmapi.ErrorAt(err, i)) {
				t.Errorf("%v of %v: %q, %v, with others %v", tt.kind, id, text, alone, pmapi.ErrorAt(err, i))
			}
		}
	}
	sets, err := c.ItemLabelSets(ctx, ids)
	if diff := cmp.Diff([]pdu.Error{2: pdu.ErrIPC, 4: pdu.ErrAgain}, codes(t, err, len(ids))); diff != "" || len(sets) != len(ids) {
		t.Fatalf("%v, %v (-want +got):\n%s", sets, err, diff)
	}
	for i, want := range []string{`{"a":1}`, "{}", "{}", "{}", "{}"} {
		if got := sets[i].String(); got != want || sets[i].Inst != pdu.NoInst {
			t.Errorf("labels of %v: %v", ids[i], got)
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

// codes are the codes of the errors about each of several items.
func codes(t *testing.T, err error, n int) []pdu.Error {
	t.Helper()
	if bulk, ok := errors.AsType[*pmapi.BulkError](err); !ok || len(bulk.Errs) != n {
		t.Fatalf("error %v, want one about %d things", err, n)
	}
	var list []pdu.Error
	for i := range n {
		list = append(list, pdu.FromError(pmapi.ErrorAt(err, i)))
	}
	return list
}

func TestBulkError(t *testing.T) {
	one, two := &pmapi.OpError{Op: "lookup", Metric: "a", Err: pdu.ErrName}, &pmapi.OpError{Op: "lookup", Metric: "b", Err: pdu.ErrNonLeaf}
	for _, tt := range []struct {
		errs []error
		want string
	}{
		{[]error{nil, one}, one.Error()},
		{[]error{two, nil, one, one}, two.Error() + " (and 2 more)"},
	} {
		err := error(&pmapi.BulkError{Errs: tt.errs})
		if err.Error() != tt.want || !errors.Is(err, pdu.ErrName) || errors.Is(err, pdu.ErrPMID) {
			t.Errorf("%v, want %s", err, tt.want)
		}
		for i, want := range tt.errs {
			if got := pmapi.ErrorAt(err, i); got != want {
				t.Errorf("%d: %v, want %v", i, got, want)
			}
		}
	}
	if got := pmapi.ErrorAt(one, 5); got != error(one) {
		t.Error(got)
	}
	if got := pmapi.ErrorAt(nil, 5); got != nil {
		t.Error(got)
	}
}

func TestTimeout(t *testing.T) {
	for err, want := range map[error]bool{
		pdu.ErrTimeout: true, pdu.Error(-110): true, context.DeadlineExceeded: true, os.ErrDeadlineExceeded: true,
		pdu.ErrIPC: false, context.Canceled: false, syscall.ECONNREFUSED: false,
	} {
		op := &pmapi.OpError{Op: "fetch", Err: fmt.Errorf("why: %w", err)}
		if op.Timeout() != want {
			t.Errorf("%v: Timeout() = %v", err, !want)
		}
	}
}

// Names and metrics that fail in a request about many are requested alone, once, for the
// reason; and of an agent that is not available only one metric is.
func TestBulkReasons(t *testing.T) {
	var requests []string
	c := open(t, pmapi.Dialer{}, replying(allFeatures, func(_ pdu.Header, p pdu.PDU) []byte {
		switch p := p.(type) {
		case *pdu.NameList:
			requests = append(requests, strings.Join(p.Names, " "))
			if len(p.Names) == 1 {
				return frame(pdu.Status{Code: map[string]pdu.Error{"b": pdu.ErrNonLeaf, "d": pdu.ErrName}[p.Names[0]]})
			}
			return frame(pdu.PMIDList{PMIDs: []pdu.PMID{1, pdu.NoPMID, 3, pdu.NoPMID}})
		case *pdu.DescsReq:
			requests = append(requests, fmt.Sprint(p.PMIDs))
			none := pdu.Desc{PMID: pdu.NoPMID}
			return frame(pdu.DescsReply{Descs: []pdu.Desc{none, none, echoDesc(p.PMIDs[2]), none, none, none}})
		case *pdu.DescReq:
			requests = append(requests, p.PMID.String())
			if p.PMID.Domain() == 4 {
				return frame(pdu.Status{Code: pdu.ErrPMDANotReady})
			}
			if p.PMID.Item() == 2 {
				return frame(pdu.DescReply{Desc: echoDesc(p.PMID)})
			}
			return frame(pdu.Status{Code: pdu.ErrPMID})
		}
		return nil
	}))
	ids, err := c.Lookup(t.Context(), []string{"a", "b", "c", "d"})
	if diff := cmp.Diff([]pdu.PMID{1, pdu.NoPMID, 3, pdu.NoPMID}, ids) +
		cmp.Diff([]pdu.Error{1: pdu.ErrNonLeaf, 3: pdu.ErrName}, codes(t, err, 4)) + cmp.Diff([]string{"a b c d", "b", "d"}, requests); diff != "" {
		t.Errorf("lookup (-want +got):\n%s", diff)
	}
	requests = nil
	id := pdu.MakePMID
	descs, err := c.Descs(t.Context(), []pdu.PMID{id(4, 0, 1), id(5, 0, 1), id(5, 0, 9), id(4, 0, 2), id(5, 0, 2), id(5, 0, 3)})
	if diff := cmp.Diff([]pdu.Error{pdu.ErrPMDANotReady, pdu.ErrPMID, 0, pdu.ErrPMDANotReady, 0, pdu.ErrPMID}, codes(t, err, 6)) +
		cmp.Diff([]string{"[4.0.1 5.0.1 5.0.9 4.0.2 5.0.2 5.0.3]", "4.0.1", "5.0.1", "5.0.2", "5.0.3"}, requests); diff != "" || descs[4].PMID != id(5, 0, 2) {
		t.Errorf("descriptors %v (-want +got):\n%s", descs, diff)
	}
}

func second[T any](_ T, err error) error { return err }

func TestBulkFails(t *testing.T) {
	c := open(t, pmapi.Dialer{}, replying(pdu.FeatureDescs, func(pdu.Header, pdu.PDU) []byte { return nil }))
	if _, err := c.ItemLabelSets(t.Context(), []pdu.PMID{1}); !errors.Is(err, pdu.ErrNoLabels) {
		t.Errorf("labels where there are none: %v", err)
	}
	if _, err := c.Texts(t.Context(), []pdu.PMID{1, 2}, pdu.TextHelp); !errors.Is(err, pdu.ErrIPC) {
		t.Errorf("texts of a collector that hangs up: %v", err)
	}
}
