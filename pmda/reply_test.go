package pmda_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/remote"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

func TestText(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	d := &pmda.InDom{Name: "i", Text: "line of domain"}
	must(t, a.Attach(d))
	register(t, a, pmda.Metric[int32]{Name: "a.x", Text: "line", Help: "more\nlines", Value: always[int32](1)})
	register(t, a, pmda.Metric[int32]{Name: "a.y", InDom: d, Help: "only help", Value: always[int32](1)})
	x, y, in := pdu.TextOfMetric(pdu.MakePMID(251, 0, 0)), pdu.TextOfMetric(pdu.MakePMID(251, 0, 1)), pdu.TextOfInDom(d.ID())
	for _, c := range []struct {
		of   pdu.TextTarget
		kind pdu.TextKind
		want string
	}{
		{x, pdu.TextOneLine, "line"},
		{x, pdu.TextHelp, "more\nlines"},
		{y, pdu.TextOneLine, ""},
		{y, pdu.TextHelp, "only help"},
		{pdu.TextOfMetric(pdu.MakePMID(251, 0, 2)), pdu.TextHelp, ""},
		{in, pdu.TextOneLine, "line of domain"},
		{in, pdu.TextHelp, ""},
		{pdu.TextOfInDom(d.ID() + 1), pdu.TextOneLine, ""},
		{pdu.TextOfInDom(pdu.NoInDom), pdu.TextOneLine, ""},
	} {
		got, err := a.Text(t.Context(), request(), c.of, c.kind)
		if got != c.want || (c.want == "") != errors.Is(err, pdu.ErrText) {
			t.Errorf("Text(%v, %v): %q, %v, want %q", c.of, c.kind, got, err, c.want)
		}
	}
}

// TestStore stores values of right and wrong types into known and unknown instances.
func TestStore(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	d := a.AddInDom("i", "x", "y")
	var log []string
	register(t, a, pmda.Metric[int32]{Name: "a.n", InDom: d, Value: always[int32](1),
		Store: func(_ context.Context, _ *pmda.Request, i pdu.Instance, v int32) error {
			if v < 0 {
				return pdu.ErrBadStore
			}
			log = append(log, fmt.Sprint(i.Name, "=", v))
			return nil
		}})
	register(t, a, pmda.Metric[Colour]{Name: "a.colour", Value: always(Colour("red")),
		Store: func(_ context.Context, _ *pmda.Request, i pdu.Instance, v Colour) error {
			log = append(log, fmt.Sprint(i.ID, "=", v))
			return nil
		}})
	register(t, a, pmda.Metric[int32]{Name: "a.fixed", Value: always[int32](1)})
	n, colour, fixed := pdu.MakePMID(251, 0, 0), pdu.MakePMID(251, 0, 1), pdu.MakePMID(251, 0, 2)
	for _, c := range []struct {
		name string
		id   pdu.PMID
		add  func(w *pdu.ResultWriter)
		err  error
		want []string
		text string // of the error
	}{
		{"two instances", n, func(w *pdu.ResultWriter) { w.Int32(0, 5); w.Int32(1, 6) }, nil, []string{"x=5", "y=6"}, ""},
		{"the second is refused", n, func(w *pdu.ResultWriter) { w.Int32(0, 5); w.Int32(1, -6) }, pdu.ErrBadStore, []string{"x=5"}, `store "a.n": Bad input to pmstore`},
		{"converted", n, func(w *pdu.ResultWriter) { w.Uint64(1, 7) }, nil, []string{"y=7"}, ""},
		{"truncated", n, func(w *pdu.ResultWriter) { w.Uint64(1, 1<<40) }, pdu.ErrTrunc, nil, `store "a.n": a value of type U64 (uint64) for a metric of type 32 (int32): Truncation`},
		{"a string", n, func(w *pdu.ResultWriter) { w.String(1, "7") }, pdu.ErrConv, nil, `store "a.n": a value of type STRING for a metric of type 32 (int32): Impossible value`},
		{"unknown instance", n, func(w *pdu.ResultWriter) { w.Int32(0, 1); w.Int32(2, 1) }, pdu.ErrInst, []string{"x=1"}, `store "a.n": instance 2: Unknown`},
		{"no instance", n, func(w *pdu.ResultWriter) { w.Int32(-1, 1) }, pdu.ErrInst, nil, `store "a.n": instance -1: Unknown`},
		{"no values", n, func(*pdu.ResultWriter) {}, nil, nil, ""},
		{"named type", colour, func(w *pdu.ResultWriter) { w.String(-1, "blue") }, nil, []string{"-1=blue"}, ""},
		{"instance of a singular metric", colour, func(w *pdu.ResultWriter) { w.String(3, "blue") }, pdu.ErrInst, nil, `store "a.colour": instance 3 of a singular metric: Unknown`},
		{"number as string", colour, func(w *pdu.ResultWriter) { w.Int64(-1, 1) }, pdu.ErrConv, nil, `store "a.colour": a value of type 64 (int64) for a metric of type STRING: Impossible value`},
		{"word as string", colour, func(w *pdu.ResultWriter) { w.Int32(-1, 1) }, pdu.ErrBadStore, nil, `store "a.colour": an integer of 32 bits for a metric of type STRING: Bad`},
		{"no Store", fixed, func(w *pdu.ResultWriter) { w.Int32(-1, 1) }, pdu.ErrPermission, nil, `store "a.fixed": No permission`},
		{"unknown metric", fixed + 1, func(w *pdu.ResultWriter) { w.Int32(-1, 1) }, pdu.ErrPMID, nil, `store "251.0.3": Unknown`},
	} {
		t.Run(c.name, func(t *testing.T) {
			log = nil
			err := a.Store(t.Context(), request(), stored(t, c.id, c.add))
			if !errors.Is(err, c.err) {
				t.Errorf("Store: %v, want %v", err, c.err)
			}
			if err != nil && (c.text == "" || !strings.HasPrefix(err.Error(), "pmda: agent a: "+c.text)) {
				t.Errorf("Store: %v, want pmda: agent a: %s", err, c.text)
			}
			if diff := cmp.Diff(c.want, log); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
		})
	}
}

// labelText returns label sets as text.
func labelText(sets []pdu.LabelSet) string {
	var s []string
	for _, l := range sets {
		text := fmt.Sprintf("%d:%s", l.Inst, l.JSON)
		if l.Err != 0 {
			text += fmt.Sprintf(" error %d", int32(l.Err))
		}
		for _, i := range l.Labels {
			text += fmt.Sprintf(" %#x", uint8(i.Flags))
		}
		s = append(s, text)
	}
	return strings.Join(s, "; ")
}

func TestLabels(t *testing.T) {
	var log bytes.Buffer
	a := &pmda.Agent{Name: "pmdasome DSO", Domain: 251, ClusterLabels: map[int]string{0: `{"cluster": 0}`},
		Logger: slog.New(slog.NewTextHandler(&log, nil))}
	d := &pmda.InDom{Name: "i", Labels: `{"of":"domain"}`, InstanceLabels: func(i pdu.Instance) string {
		switch i.Name {
		case "none":
			return ""
		case "bad":
			return "{"
		}
		return `{"name":"` + i.Name + `"}`
	}}
	plain := &pmda.InDom{Name: "plain", Serial: pmda.InDomSerial(1)}
	must(t, a.Attach(d), setNames(d, "x", "none", "bad", "y"), a.Attach(plain), setNames(plain, "p"))
	register(t, a, pmda.Metric[int32]{Name: "a.x", InDom: d, Labels: `{"a":{"b":1}}`, Value: always[int32](1)})
	register(t, a, pmda.Metric[int32]{Name: "a.y", ID: pmda.Item(1, 0), Value: always[int32](1)})
	x, y := uint32(pdu.MakePMID(251, 0, 0)), uint32(pdu.MakePMID(251, 1, 0))
	for _, c := range []struct {
		name  string
		ident uint32
		class pdu.LabelClass
		want  string
	}{
		{"context", 0xffffffff, pdu.LabelContext, ""},
		{"domain", 251, pdu.LabelDomain, `-1:{"agent":"some"} 0x2`},
		{"flagged domain", 251, pdu.LabelDomain | 0xc0, `-1:{"agent":"some"} 0x2`},
		{"cluster", x, pdu.LabelCluster, `-1:{"cluster":0} 0x8`},
		{"no cluster", y, pdu.LabelCluster, ""},
		{"item", x, pdu.LabelItem, `-1:{"a":{"b":1}} 0x50`},
		{"no item", y, pdu.LabelItem, ""},
		{"unknown item", y + 1, pdu.LabelItem, ""},
		{"indom", uint32(d.ID()), pdu.LabelInDom, `-1:{"of":"domain"} 0x4`},
		{"no indom", uint32(plain.ID()), pdu.LabelInDom, ""},
		{"unknown indom", uint32(plain.ID()) + 1, pdu.LabelInDom, ""},
		{"instances", uint32(d.ID()), pdu.LabelInstances, `0:{"name":"x"} 0x20; 1:; 2: error -22`},
		{"plain instances", uint32(plain.ID()), pdu.LabelInstances, "0:"},
		{"unknown instances", uint32(plain.ID()) + 1, pdu.LabelInstances, ""},
		{"instances of none", uint32(pdu.NoInDom), pdu.LabelInstances, "-1:"},
	} {
		r := request()
		r.Profile = &pdu.Profile{InDoms: []pdu.InDomProfile{{InDom: d.ID(), Insts: []pdu.InstID{3}}}}
		sets, err := a.Labels(t.Context(), r, pdu.LabelReq{Ident: c.ident, Class: c.class}.Target())
		if got := labelText(sets); got != c.want || err != nil {
			t.Errorf("%s: %s (%v), want %s", c.name, got, err, c.want)
		}
	}
	if _, err := a.Labels(t.Context(), request(), pdu.LabelsOfInstances(d.ID())); err != nil { // once more
		t.Error(err)
	}
	if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "indom=i instance=bad err=\"InDom.InstanceLabels returned `{`") {
		t.Errorf("log: %s", log.String())
	}
	if _, err := a.Labels(t.Context(), request(), pdu.LabelTarget{Class: 3}); !errors.Is(err, pdu.ErrType) {
		t.Errorf("two classes: %v", err)
	}
	a.DomainLabels = `{"role":"testing"}`
	if sets, err := a.Labels(t.Context(), request(), pdu.LabelsOfDomain(251)); labelText(sets) != `-1:{"role":"testing"} 0x2` {
		t.Errorf("DomainLabels: %s (%v)", labelText(sets), err)
	}
	a.ClusterLabels[0] = "{" // a program that does not call Err
	if _, err := a.Labels(t.Context(), request(), pdu.LabelsOfCluster(pdu.PMID(x))); err == nil {
		t.Errorf("bad ClusterLabels: no error")
	}
	quoted := pmda.Unimplemented(pmda.Info{Name: "a\"\n"})
	if sets, err := quoted.Labels(t.Context(), request(), pdu.LabelsOfDomain(251)); err != nil || labelText(sets) != `-1:{"agent":"a\"\n"} 0x2` {
		t.Errorf("default labels of a name to quote: %s (%v)", labelText(sets), err)
	}
}

// TestUnimplemented checks the replies of an Unimplemented.
func TestUnimplemented(t *testing.T) {
	u := pmda.Unimplemented(pmda.Info{Name: "none", Domain: 251})
	ctx, r := t.Context(), request()
	if got := fetched(t, u, r, 1, 2); got != "0.0.1: error -12358\n0.0.2: error -12358\n" {
		t.Errorf("Fetch: %s", got)
	}
	_, desc := u.Desc(ctx, r, 1)
	_, insts := u.Instances(ctx, r, 1, pdu.NoInst, "")
	_, text := u.Text(ctx, r, pdu.TextOfMetric(1), pdu.TextOneLine)
	_, pmid := u.PMID(ctx, r, "x")
	_, names := u.Names(ctx, r, 1)
	_, children := u.Children(ctx, r, "x")
	_, traverse := u.Traverse(ctx, r, "x")
	got := []error{desc, insts, text, u.Store(ctx, r, new(pdu.Result)), pmid, names, children, traverse, u.Err()}
	want := []error{pdu.ErrPMID, pdu.ErrInDom, pdu.ErrText, pdu.ErrPermission, pdu.ErrName, pdu.ErrPMID, pdu.ErrName, pdu.ErrName, nil}
	for i := range want {
		if !errors.Is(got[i], want[i]) {
			t.Errorf("reply %d: %v, want %v", i, got[i], want[i])
		}
	}
	if sets, err := u.Labels(ctx, r, pdu.LabelsOfDomain(251)); labelText(sets) != `-1:{"agent":"none"} 0x2` {
		t.Errorf("labels of the domain: %s (%v)", labelText(sets), err)
	}
	if sets, err := u.Labels(ctx, r, pdu.LabelsOfItem(1)); sets != nil || err != nil {
		t.Errorf("labels of an item: %v (%v)", sets, err)
	}
	u.EndClient(r.Client)
}

// TestConformance checks that Agents meet the contract, directly and over a connection.
func TestConformance(t *testing.T) {
	for _, l := range loads(50) {
		t.Run(l.name, func(t *testing.T) { pmdatest.Run(t, l.make(t)) })
		t.Run(l.name+"/remote", func(t *testing.T) {
			a := l.make(t)
			ours, theirs := net.Pipe()
			served := make(chan error, 1)
			go func() { served <- pmda.Serve(t.Context(), a, theirs) }()
			m, err := remote.New(t.Context(), a.Info(), ours, remote.Config{})
			must(t, err)
			pmdatest.Run(t, m, pmdatest.Names(a.Namespace()))
			must(t, ours.Close(), <-served)
		})
	}
}

func TestLabelJSON(t *testing.T) {
	for _, tt := range []struct {
		labels map[string]any
		want   string
		err    string
	}{
		{nil, "", ""},
		{map[string]any{"path": `C:\"<x>"`, "n": 1, "on": true, "a": map[string]int{"b": 2}}, `{"a":{"b":2},"n":1,"on":true,"path":"C:\\\"<x>\""}`, ""},
		{map[string]any{"7": 1}, `labels: bad name "7": Invalid argument`, `pmda: agent a: serve: DomainLabels: bad name "7": Invalid argument`},
		{map[string]any{"f": func() {}}, "labels: json: unsupported type: func(): Invalid argument",
			"pmda: agent a: serve: DomainLabels: json: unsupported type: func(): Invalid argument"},
	} {
		got := pmda.LabelJSON(tt.labels)
		if got != tt.want {
			t.Errorf("%v: %s, want %s", tt.labels, got, tt.want)
		}
		err := (&pmda.Agent{Name: "a", Domain: 251, DomainLabels: got}).Err()
		if (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%v: Err: %v, want %s", tt.labels, err, tt.err)
		}
	}
}
