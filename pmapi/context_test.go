package pmapi_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmns"
)

// colours is an agent with a singular metric, one with instances, one that takes
// values, and one that fails.
func colours(t testing.TB) *pmda.Agent {
	t.Helper()
	a := &pmda.Agent{Name: "paint", Domain: 400}
	colour := a.AddInDom("colour", "red", "green light", "blue")
	colour.Text, colour.Help, colour.Labels = "Colours", "Colours that there are", `{"kind":"colour"}`
	depth := int32(7)
	for _, err := range []error{
		pmda.Register(a, pmda.Metric[uint64]{
			Name: "paint.used", Text: "Paint used", Help: "Paint used since the start", Sem: pdu.SemCounter, Units: pdu.SpaceKByte,
			Labels: `{"level":"metric"}`,
			Value:  func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return 12, nil },
		}),
		pmda.Register(a, pmda.Metric[float64]{
			Name: "paint.left", Text: "Paint left", InDom: colour,
			Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (float64, error) {
				return float64(i.ID) / 2, nil
			},
		}),
		pmda.Register(a, pmda.Metric[int32]{
			Name:  "paint.depth",
			Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) { return depth, nil },
			Store: func(_ context.Context, _ *pmda.Request, _ pdu.Instance, v int32) error { depth = v; return nil },
		}),
		pmda.Register(a, pmda.Metric[int32]{
			Name:  "paint.dried.up",
			Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) { return 0, pdu.ErrAppVersion },
		}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// local returns a context on a collector in this process.
func local(t testing.TB, agents ...pmda.Handler) *pmapi.Context {
	t.Helper()
	srv := new(collector.Server)
	t.Cleanup(func() { srv.Close() })
	for _, a := range agents {
		if err := srv.Add(a); err != nil {
			t.Fatal(err)
		}
	}
	c, err := pmapi.Local(t.Context(), srv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestNames(t *testing.T) {
	ctx, c := t.Context(), local(t, colours(t))
	ids, err := c.Lookup(ctx, []string{"paint.used", "paint.left", "paint.dried.up"})
	if diff := cmp.Diff([]pdu.PMID{pdu.MakePMID(400, 0, 0), pdu.MakePMID(400, 0, 1), pdu.MakePMID(400, 0, 3)}, ids); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for _, tt := range []struct {
		names []string
		want  error
		good  int
		text  string
	}{
		{nil, pdu.ErrTooSmall, 0, `pmapi: lookup on local: Insufficient elements in list`},
		{[]string{"paint.nothing"}, pdu.ErrName, 0, `pmapi: lookup "paint.nothing" on local: Unknown metric name`},
		{[]string{"paint.dried"}, pdu.ErrNonLeaf, 0, `pmapi: lookup "paint.dried" on local: Metric name is not a leaf in PMNS`},
		{[]string{"paint.used", "paint.dried", "nothing"}, pdu.ErrNonLeaf, 1, `pmapi: lookup "paint.dried" on local: Metric name is not a leaf in PMNS (and 1 more)`},
		{[]string{"nothing", "paint.dried"}, pdu.ErrName, 0, `pmapi: lookup "nothing" on local: Unknown metric name (and 1 more)`},
	} {
		ids, err := c.Lookup(ctx, tt.names)
		if !errors.Is(err, tt.want) || err.Error() != tt.text {
			t.Errorf("%q: %v, want %s", tt.names, err, tt.text)
		}
		good := len(ids) - len(slices.DeleteFunc(slices.Clone(ids), func(id pdu.PMID) bool { return id != pdu.NoPMID }))
		if good != tt.good || len(ids) != len(tt.names) {
			t.Errorf("%q: %v", tt.names, ids)
		}
	}
	if name, err := c.Name(ctx, ids[2]); name != "paint.dried.up" || err != nil {
		t.Error(name, err)
	}
	if _, err := c.Names(ctx, pdu.MakePMID(400, 9, 9)); !errors.Is(err, pdu.ErrPMID) {
		t.Error(err)
	}
	children, err := c.Children(ctx, "paint")
	want := []pmns.Child{{Name: "used", Leaf: true}, {Name: "left", Leaf: true}, {Name: "depth", Leaf: true}, {Name: "dried"}}
	if diff := cmp.Diff(want, children); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if children, err = c.Children(ctx, "paint.used"); err != nil || len(children) != 0 {
		t.Error(children, err)
	}
	if _, err = c.Children(ctx, "nothing"); !errors.Is(err, pdu.ErrName) {
		t.Error(err)
	}
	all, err := c.Traverse(ctx, "paint")
	if diff := cmp.Diff([]string{"paint.used", "paint.left", "paint.depth", "paint.dried.up"}, all); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestMetadata(t *testing.T) {
	ctx, c := t.Context(), local(t, colours(t))
	ids, err := c.Lookup(ctx, []string{"paint.used", "paint.left", "paint.depth"})
	if err != nil {
		t.Fatal(err)
	}
	used, err := c.Desc(ctx, ids[0])
	if diff := cmp.Diff(pdu.Desc{PMID: ids[0], Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter, Units: pdu.SpaceKByte}, used); err != nil || diff != "" {
		t.Error(err, diff)
	}
	descs, err := c.Descs(ctx, []pdu.PMID{ids[0], pdu.MakePMID(400, 9, 9), ids[1]})
	if !errors.Is(err, pdu.ErrPMID) || len(descs) != 3 || descs[0] != used || descs[1].PMID != pdu.NoPMID || descs[2].PMID != ids[1] {
		t.Error(descs, err)
	}
	d := descs[2].InDom
	insts, err := c.Instances(ctx, d)
	if diff := cmp.Diff([]pdu.Instance{{ID: 0, Name: "red"}, {ID: 1, Name: "green light"}, {ID: 2, Name: "blue"}}, insts); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for _, name := range []string{"green", "green light"} {
		if id, err := c.InstID(ctx, d, name); id != 1 || err != nil {
			t.Error(name, id, err)
		}
	}
	for _, name := range []string{"", "green l", "yellow"} {
		if _, err := c.InstID(ctx, d, name); !errors.Is(err, pdu.ErrInst) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if name, err := c.InstName(ctx, d, 2); name != "blue" || err != nil {
		t.Error(name, err)
	}
	if _, err := c.InstName(ctx, d, 3); !errors.Is(err, pdu.ErrInst) {
		t.Error(err)
	}
	for _, bad := range []pdu.InDom{pdu.NoInDom, pdu.MakeInDom(400, 77)} {
		if _, err := c.Instances(ctx, bad); !errors.Is(err, pdu.ErrInDom) {
			t.Error(bad, err)
		}
	}
	for _, tt := range []struct {
		id   pdu.PMID
		kind pdu.TextKind
		want string
		err  error
	}{
		{ids[0], pdu.TextOneLine, "Paint used", nil},
		{ids[0], pdu.TextHelp, "Paint used since the start", nil},
		{ids[1], pdu.TextHelp, "Paint left", nil},
		{ids[1], pdu.TextHelp | pdu.TextDirect, "", pdu.ErrText},
		{ids[2], pdu.TextHelp, "", pdu.ErrText},
		{pdu.MakePMID(399, 9, 9), pdu.TextOneLine, "", pdu.ErrPMID},
	} {
		if got, err := c.Text(ctx, tt.id, tt.kind); got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%v %v: %q %v", tt.id, tt.kind, got, err)
		}
	}
	if got, err := c.InDomText(ctx, d, pdu.TextHelp); got != "Colours that there are" || err != nil {
		t.Error(got, err)
	}
	sets, err := c.Labels(ctx, ids[0])
	if err != nil || len(sets) < 2 {
		t.Fatal(sets, err)
	}
	merged, err := pdu.MergeLabels(nil, sets...)
	if v, ok := merged.Lookup("level"); v != "metric" || !ok || err != nil {
		t.Error(merged, err)
	}
	if l, err := c.InDomLabels(ctx, d); err != nil || l.String() != `{"kind":"colour"}` {
		t.Error(l, err)
	}
}

func TestFetchAndStore(t *testing.T) {
	ctx, c := t.Context(), local(t, colours(t))
	ids, err := c.Lookup(ctx, []string{"paint.left", "paint.dried.up", "paint.depth"})
	if err != nil {
		t.Fatal(err)
	}
	var r pdu.Result
	values := func() (got []any) {
		t.Helper()
		if err := c.Fetch(ctx, ids, &r); err != nil {
			t.Fatal(err)
		}
		for i, s := range r.All() {
			if err := s.Err(); err != nil {
				got = append(got, pdu.FromError(err))
			}
			for inst, a := range s.All([]pdu.Type{pdu.TypeDouble, pdu.Type32, pdu.Type32}[i]) {
				got = append(got, int(inst), a.String())
			}
		}
		return got
	}
	if diff := cmp.Diff([]any{0, "0.000000e+00", 1, "5.000000e-01", 2, "1.000000e+00", pdu.ErrAppVersion, -1, "7"}, values()); diff != "" {
		t.Error(diff)
	}
	if r.Time.IsZero() {
		t.Error("no time")
	}
	desc, err := c.Desc(ctx, ids[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.DelProfile(desc.InDom), c.AddProfile(desc.InDom, 2)); err != nil {
		t.Fatal(err)
	}
	var w pdu.ResultWriter
	w.Begin(ids[2])
	w.Int32(pdu.NoInst, 9)
	to, err := w.Result()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.StoreResult(ctx, to); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]any{2, "1.000000e+00", pdu.ErrAppVersion, -1, "9"}, values()); diff != "" {
		t.Error(diff)
	}
	c.SetProfile(nil)
	if got := values(); len(got) != 9 {
		t.Error(got)
	}
	w.Reset()
	w.Begin(ids[0])
	w.Float64(0, 1)
	if to, err = w.Result(); err != nil {
		t.Fatal(err)
	}
	if err := c.StoreResult(ctx, to); !errors.Is(err, pdu.ErrPermission) {
		t.Error(err)
	}
	if err := c.StoreResult(ctx, new(pdu.Result)); !errors.Is(err, pdu.ErrTooSmall) {
		t.Error(err)
	}
	if err := c.Fetch(ctx, nil, &r); !errors.Is(err, pdu.ErrTooSmall) || r.Len() != 0 {
		t.Error(err)
	}
	c.Close()
	if err := c.Fetch(ctx, ids, &r); !errors.Is(err, pdu.ErrNoContext) {
		t.Error(err)
	}
}

func TestFetchAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools drop values")
	}
	srv := new(collector.Server)
	if err := srv.Add(colours(t)); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan error)
	go func() { served <- srv.Serve(ctx, ln) }()
	c, err := pmapi.Dial(ctx, ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ids, err := c.Lookup(ctx, []string{"paint.left", "paint.depth"})
	if err != nil {
		t.Fatal(err)
	}
	var r pdu.Result
	if n := testing.AllocsPerRun(100, func() {
		if err := c.Fetch(ctx, ids, &r); err != nil {
			t.Fatal(err)
		}
	}); n != 0 && !raceEnabled {
		t.Errorf("%v allocations a fetch", n)
	}
	c.Close()
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
