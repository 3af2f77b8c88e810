package pmda_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

func TestSetInstancesErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		insts []pdu.Instance
		want  string
	}{
		{"no name", []pdu.Instance{{ID: 1}}, `instance 1 "": needs a name`},
		{"space", []pdu.Instance{{ID: 1, Name: " "}}, `instance 1 " ": the name must not begin with a space: up to the first space it tells instances apart`},
		{"space first", []pdu.Instance{{ID: 0, Name: "x"}, {ID: 1, Name: " a"}}, `instance 1 " a": the name must not begin with a space`},
		{"line break", []pdu.Instance{{ID: 1, Name: "a\nb"}}, `instance 1 "a\nb": the name must not have control characters`},
		{"tab after a space", []pdu.Instance{{ID: 1, Name: "a \t"}}, "control characters"},
		{"NUL", []pdu.Instance{{ID: 1, Name: "a\x00"}}, "control characters"},
		{"escape", []pdu.Instance{{ID: 1, Name: "\x1b[2J"}}, "control characters"},
		{"delete", []pdu.Instance{{ID: 1, Name: "a\x7f"}}, "control characters"},
		{"C1", []pdu.Instance{{ID: 1, Name: "a\u009b"}}, "control characters"},
		{"no ID", []pdu.Instance{{ID: pdu.NoInst, Name: "x"}}, `instance -1 "x": needs`},
		{"same ID", []pdu.Instance{{ID: 0, Name: "w"}, {ID: 3, Name: "x"}, {ID: 3, Name: "y"}}, `"x" and "y" have the same ID 3`},
		{"same ID as the first", []pdu.Instance{{ID: 0, Name: "w"}, {ID: 0, Name: "x"}}, `"w" and "x" have the same ID 0`},
		{"same name", []pdu.Instance{{ID: 0, Name: "x"}, {ID: 1, Name: "x"}}, `instance "x" is given twice`},
		{"same short name", []pdu.Instance{{ID: 0, Name: "x 1"}, {ID: 1, Name: "x"}}, `"x 1" and "x" are the same up to the first space`},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &pmda.Agent{Name: "a", Domain: 251}
			d := a.AddInDom("disk", "old")
			if err := setInstances(d, c.insts...); err == nil || !strings.HasPrefix(err.Error(), `pmda: agent a: set instances of "disk": `) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("SetInstances: %v, want %q in it", err, c.want)
			}
			if diff := gocmp.Diff([]pdu.Instance{{ID: 0, Name: "old"}}, d.Instances()); diff != "" {
				t.Errorf("afterwards (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSetNames takes an instance domain through changes.
func TestSetNames(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	d := a.AddInDom("i")
	insts := func(l ...pdu.Instance) []pdu.Instance { return l }
	for i, s := range []struct {
		do   func() error
		want []pdu.Instance
		err  string
	}{
		{func() error { return setNames(d) }, nil, ""},
		{func() error { return setNames(d, "b", "a") }, insts(pdu.Instance{ID: 0, Name: "b"}, pdu.Instance{ID: 1, Name: "a"}), ""},
		{func() error { return setNames(d, "a", "b") }, insts(pdu.Instance{ID: 0, Name: "b"}, pdu.Instance{ID: 1, Name: "a"}), ""},
		{func() error { return setNames(d, "c", "a") }, insts(pdu.Instance{ID: 1, Name: "a"}, pdu.Instance{ID: 2, Name: "c"}), ""},
		{func() error { return setNames(d, "d", "d") }, insts(pdu.Instance{ID: 1, Name: "a"}, pdu.Instance{ID: 2, Name: "c"}), `pmda: agent a: set instances of "i": instance "d" is given twice`},
		{func() error { return setNames(d, "") }, insts(pdu.Instance{ID: 1, Name: "a"}, pdu.Instance{ID: 2, Name: "c"}), "needs a name"},
		{func() error { return setNames(d, "a", "d\r") }, insts(pdu.Instance{ID: 1, Name: "a"}, pdu.Instance{ID: 2, Name: "c"}), "control characters"},
		{func() error { return setNames(d, "e", "b") }, insts(pdu.Instance{ID: 0, Name: "b"}, pdu.Instance{ID: 3, Name: "e"}), ""},
		{func() error { return setNames(d) }, nil, ""},
		{func() error { return setInstances(d, pdu.Instance{ID: 7, Name: "a"}, pdu.Instance{ID: 5, Name: "x y"}) },
			insts(pdu.Instance{ID: 7, Name: "a"}, pdu.Instance{ID: 5, Name: "x y"}), ""},
		{func() error { return setNames(d, "a", "e", "x y") },
			insts(pdu.Instance{ID: 5, Name: "x y"}, pdu.Instance{ID: 7, Name: "a"}, pdu.Instance{ID: 8, Name: "e"}), ""},
		{func() error { return setInstances(d, pdu.Instance{ID: math.MaxInt32, Name: "last"}) }, insts(pdu.Instance{ID: math.MaxInt32, Name: "last"}), ""},
		{func() error { return setNames(d, "last") }, insts(pdu.Instance{ID: math.MaxInt32, Name: "last"}), ""},
		// After the highest ID the lowest free ones are next.
		{func() error { return setNames(d, "last", "more") }, insts(pdu.Instance{ID: 0, Name: "more"}, pdu.Instance{ID: math.MaxInt32, Name: "last"}), ""},
		{func() error { return setNames(d, "x", "y") }, insts(pdu.Instance{ID: 1, Name: "x"}, pdu.Instance{ID: 2, Name: "y"}), ""},
	} {
		err := s.do()
		if (err == nil) != (s.err == "") || err != nil && !strings.Contains(err.Error(), s.err) {
			t.Errorf("step %d: %v, want %q", i, err, s.err)
		}
		if !slices.Equal(d.Instances(), s.want) {
			t.Errorf("step %d: %v, want %v", i, d.Instances(), s.want)
		}
	}
	if d := new(pmda.InDom); d.Instances() != nil {
		t.Errorf("a new InDom: %v", d.Instances())
	}
}

// TestUpdateModel checks that a name always keeps its ID, that no two names have the same ID, and
// that the list is in ascending order.
func TestUpdateModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := &pmda.Agent{Name: "a", Domain: 251}
		d := a.AddInDom("i")
		ids := map[string]pdu.InstID{}
		owner := map[pdu.InstID]string{}
		for range rapid.IntRange(1, 10).Draw(t, "updates") {
			names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-f]{1,2}`), 0, 8, rapid.ID).Draw(t, "names")
			if err := setNames(d, names...); err != nil {
				t.Fatal(err)
			}
			list := d.Instances()
			if len(list) != len(names) {
				t.Fatalf("%v after Update(%q)", list, names)
			}
			if !slices.IsSortedFunc(list, func(a, b pdu.Instance) int { return cmp.Compare(a.ID, b.ID) }) {
				t.Fatalf("not in order: %v", list)
			}
			for _, i := range list {
				if id, ok := ids[i.Name]; ok && id != i.ID {
					t.Fatalf("%q had ID %d, now %d", i.Name, id, i.ID)
				}
				if n, ok := owner[i.ID]; ok && n != i.Name {
					t.Fatalf("ID %d was %q, now %q", i.ID, n, i.Name)
				}
				if !slices.Contains(names, i.Name) {
					t.Fatalf("%q is not in %q", i.Name, names)
				}
				ids[i.Name], owner[i.ID] = i.ID, i.Name
			}
			if want := max(len(ids)-1, 0); len(ids) > 0 && int(slices.Max(slices.Collect(maps.Values(ids)))) != want {
				t.Fatalf("IDs have gaps: %v", ids)
			}
		}
	})
}

func TestInstanceLookup(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	dense := a.AddInDom("dense", "zero", "one 1", "two  blanks")
	sparse := &pmda.InDom{Serial: pmda.InDomSerial(7), Name: "sparse"}
	must(t, a.Attach(sparse), setInstances(sparse, pdu.Instance{ID: 5, Name: "1 minute"}, pdu.Instance{ID: 1, Name: "5 minute"}, pdu.Instance{ID: 0, Name: "15"}))
	all, none := func(l ...pdu.Instance) []pdu.Instance { return l }, pdu.NoInst
	for _, c := range []struct {
		d    pdu.InDom
		inst pdu.InstID
		name string
		want []pdu.Instance
		err  error
	}{
		{dense.ID(), none, "", all(pdu.Instance{ID: 0, Name: "zero"}, pdu.Instance{ID: 1, Name: "one 1"}, pdu.Instance{ID: 2, Name: "two  blanks"}), nil},
		{dense.ID(), 1, "", all(pdu.Instance{ID: 1, Name: "one 1"}), nil},
		{dense.ID(), 3, "", nil, pdu.ErrInst},
		{dense.ID(), -2, "", nil, pdu.ErrInst},
		{dense.ID(), none, "one 1", all(pdu.Instance{ID: 1, Name: "one 1"}), nil},
		{dense.ID(), none, "one", all(pdu.Instance{ID: 1, Name: "one 1"}), nil},
		{dense.ID(), none, "one 2", nil, pdu.ErrInst},
		{dense.ID(), none, "one ", nil, pdu.ErrInst},
		{dense.ID(), none, "on", nil, pdu.ErrInst},
		{dense.ID(), none, "two  blanks", all(pdu.Instance{ID: 2, Name: "two  blanks"}), nil},
		{dense.ID(), none, " ", nil, pdu.ErrInst},
		{dense.ID(), 1, "one 1", nil, pdu.ErrInst},
		{sparse.ID(), 5, "", all(pdu.Instance{ID: 5, Name: "1 minute"}), nil},
		{sparse.ID(), 0, "", all(pdu.Instance{ID: 0, Name: "15"}), nil},
		{sparse.ID(), 2, "", nil, pdu.ErrInst},
		{sparse.ID(), none, "5", all(pdu.Instance{ID: 1, Name: "5 minute"}), nil},
		{sparse.ID(), none, "15 minute", nil, pdu.ErrInst},
		{pdu.NoInDom, none, "", nil, pdu.ErrInDom},
		{pdu.MakeInDom(251, 1), none, "", nil, pdu.ErrInDom},
		{pdu.MakeInDom(250, 0), none, "", nil, pdu.ErrInDom},
		{1<<31 | dense.ID(), none, "", nil, pdu.ErrInDom},
	} {
		r := request()
		r.Profile = &pdu.Profile{Exclude: true} // does not matter
		got, err := a.Instances(t.Context(), r, c.d, c.inst, c.name)
		if !slices.Equal(got, c.want) || !errors.Is(err, c.err) {
			t.Errorf("Instances(%v, %d, %q): %v, %v, want %v, %v", c.d, c.inst, c.name, got, err, c.want, c.err)
		}
	}
	if d := a.AddInDom("next"); d.ID() != pdu.MakeInDom(251, 1) {
		t.Errorf("the second InDom is %v", d.ID())
	}
}

// TestManyInstances checks that lookups and stores do not scan, and that serials are found
// immediately.
func TestManyInstances(t *testing.T) {
	const n = 10000
	start := time.Now()
	a := &pmda.Agent{Name: "a", Domain: 251}
	d := a.AddInDom("i")
	list := make([]pdu.Instance, n)
	for i := range list {
		list[i] = pdu.Instance{ID: pdu.InstID(7 * i), Name: fmt.Sprint("n", i, " more")}
	}
	must(t, setInstances(d, list...))
	sum := 0
	register(t, a, pmda.Metric[int32]{Name: "a.x", InDom: d, Value: always[int32](1),
		Store: func(_ context.Context, _ *pmda.Request, i pdu.Instance, v int32) error { sum += int(v); return nil }})
	for i := range n {
		got, err := a.Instances(t.Context(), request(), d.ID(), pdu.NoInst, fmt.Sprint("n", i))
		if err != nil || got[0].ID != pdu.InstID(7*i) {
			t.Fatalf("instance %d: %v %v", i, got, err)
		}
	}
	err := a.Store(t.Context(), request(), stored(t, pdu.MakePMID(251, 0, 0), func(w *pdu.ResultWriter) {
		for _, i := range list {
			w.Int32(i.ID, 1)
		}
	}))
	if err != nil || sum != n {
		t.Errorf("Store: %v, %d of %d", err, sum, n)
	}
	for range 3000 {
		a.AddInDom("more")
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("it took %v", d)
	}
}

// TestAddInDomConcurrently checks that every domain gets a different serial.
func TestAddInDomConcurrently(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { a.AddInDom("i", "x") })
	}
	wg.Wait()
	must(t, a.Err())
	if d := a.AddInDom("last"); d.ID().Serial() != 8 {
		t.Errorf("the ninth has serial %d", d.ID().Serial())
	}
}

// TestUpdateAllocs checks that SetNames without a change allocates nothing.
func TestUpdateAllocs(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	d := a.AddInDom("i")
	all := names(100)
	if n := testing.AllocsPerRun(100, func() { must(t, setNames(d, all...)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestInDomOfNothing checks that a domain has no instances if the refresh of its group fails with
// pdu.ErrAppVersion. Any other error fails the request.
func TestInDomOfNothing(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 400}
	var fails error
	d := &pmda.InDom{Name: "thing"}
	d.Group = a.Group(func(context.Context, *pmda.Request) error {
		if fails != nil {
			return fails
		}
		return setNames(d, "one", "two")
	})
	if err := a.Attach(d); err != nil {
		t.Fatal(err)
	}
	list := func() ([]pdu.Instance, error) {
		return a.Instances(t.Context(), &pmda.Request{}, d.ID(), pdu.NoInst, "")
	}
	if got, err := list(); err != nil || len(got) != 2 {
		t.Errorf("%v, %v, want two", got, err)
	}
	fails = fmt.Errorf("no such file: %w", pdu.ErrAppVersion)
	if got, err := list(); err != nil || len(got) != 0 {
		t.Errorf("of nothing: %v, %v", got, err)
	}
	fails = pdu.ErrAgain
	if got, err := list(); !errors.Is(err, pdu.ErrAgain) || got != nil {
		t.Errorf("of an error: %v, %v", got, err)
	}
}

// setNames calls InDom.SetNames and returns only the error.
func setNames(d *pmda.InDom, names ...string) error {
	_, err := d.SetNames(names...)
	return err
}

// setInstances calls InDom.SetInstances and returns only the error.
func setInstances(d *pmda.InDom, list ...pdu.Instance) error {
	_, err := d.SetInstances(list...)
	return err
}
