package pmda_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// TestInDomOfCache checks that clients get the active instances of a Cache, and that lookups work
// as in C agents.
func TestInDomOfCache(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	var c pmda.Cache[int32]
	d := &pmda.InDom{Name: "i", Cache: &c}
	must(t, a.Attach(d))
	register(t, a, pmda.Metric[int32]{Name: "a.x", InDom: d, Value: value(&c),
		Store: func(_ context.Context, _ *pmda.Request, i pdu.Instance, v int32) error {
			_, err := c.Add(i.Name, v)
			return err
		}})
	list := func(l ...pdu.Instance) []pdu.Instance { return l }
	check := func(inst pdu.InstID, name string, want []pdu.Instance) {
		t.Helper()
		got, err := a.Instances(t.Context(), request(), d.ID(), inst, name)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) || err != nil && !errors.Is(err, pdu.ErrInst) {
			t.Errorf("instances %d %q: %v, %v, want %v", inst, name, got, err, want)
		}
	}
	if got, err := a.Instances(t.Context(), request(), d.ID(), pdu.NoInst, ""); len(got) != 0 || err != nil {
		t.Errorf("none: %v, %v", got, err)
	}
	one, two, three := pdu.Instance{ID: 0, Name: "one 1"}, pdu.Instance{ID: 1, Name: "two"}, pdu.Instance{ID: 2, Name: "three"}
	for i, n := range []string{one.Name, two.Name, three.Name} {
		c.Add(n, int32(i))
	}
	check(pdu.NoInst, "", list(one, two, three))
	c.Hide("two")
	check(pdu.NoInst, "", list(one, three))
	check(0, "", list(one))
	check(1, "", nil)
	check(2, "", list(three))
	check(3, "", nil)
	check(-2, "", nil)
	check(pdu.NoInst, "one 1", list(one))
	check(pdu.NoInst, "one", list(one))
	check(pdu.NoInst, "one 2", list(one)) // C compares no more than the first part
	check(pdu.NoInst, "two", nil)
	check(pdu.NoInst, "on", nil)
	check(0, "one", nil)
	c.Add("four", 40)
	c.Add("two", 10)
	check(pdu.NoInst, "", list(one, two, three, pdu.Instance{ID: 3, Name: "four"}))
	c.Cull("one")
	check(pdu.NoInst, "one", nil)

	store := func(id pdu.InstID) error {
		return a.Store(t.Context(), request(), stored(t, pdu.MakePMID(251, 0, 0), func(w *pdu.ResultWriter) { w.Int32(id, 77) }))
	}
	if err := store(2); err != nil {
		t.Error(err)
	}
	if err := store(0); !errors.Is(err, pdu.ErrInst) {
		t.Errorf("store of a culled instance: %v", err)
	}
	if e, _ := c.Lookup(2); e.Value != 77 {
		t.Error(e)
	}
	// The list of a request in progress does not change.
	before := d.Instances()
	want := slices.Clone(before)
	for i := range 100 {
		c.Add(fmt.Sprint("more", i), 0)
		c.Hide(fmt.Sprint("more", i-7))
	}
	if !slices.Equal(before, want) {
		t.Errorf("%v, was %v", before, want)
	}
}

// value returns a Value function that looks in a cache.
func value(c *pmda.Cache[int32]) func(context.Context, *pmda.Request, pdu.Instance) (int32, error) {
	return func(_ context.Context, _ *pmda.Request, i pdu.Instance) (int32, error) {
		e, ok := c.Lookup(i.ID)
		if !ok {
			return 0, pmda.NoValue
		}
		return e.Value, nil
	}
}

// TestInDomOfCacheErrors checks the invalid uses of an InDom with a Cache.
func TestInDomOfCacheErrors(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	var none *pmda.Cache[int]
	for _, c := range []struct {
		d    *pmda.InDom
		want string
	}{
		{&pmda.InDom{Name: "i", Cache: none}, "its Cache is nil"},
		{&pmda.InDom{Name: "i", Cache: &pmda.Cache[int]{Strings: true}}, "one of strings"},
		{&pmda.InDom{Name: "i", Cache: new(pmda.Cache[int]), File: "x"}, "a File and a Cache"},
	} {
		if err := a.Attach(c.d); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Attach: %v, want %q", err, c.want)
		}
	}
	d := &pmda.InDom{Name: "i", Cache: new(pmda.Cache[int])}
	for name, err := range map[string]error{"SetNames": setNames(d, "a"), "SetInstances": setInstances(d, pdu.Instance{Name: "a"})} {
		if err == nil || err.Error() != `pmda: set instances of "i": it has those of its Cache` {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInDomOfCacheAllocs checks that a request copies no instances, and that an Add of a known
// instance allocates nothing.
func TestInDomOfCacheAllocs(t *testing.T) {
	var c pmda.Cache[int]
	d := &pmda.InDom{Name: "i", Cache: &c}
	all := names(1000)
	for _, n := range all {
		c.Add(n, 0)
	}
	if n := testing.AllocsPerRun(10, func() {
		for _, i := range d.Instances() {
			if e, ok := c.Lookup(i.ID); !ok || e.Name != i.Name {
				t.Error(e)
			}
		}
		for _, n := range all {
			c.Add(n, 0)
			c.LookupName(n)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestSetNamesForgets checks that the names that went last are remembered.
func TestSetNamesForgets(t *testing.T) {
	d := &pmda.InDom{Name: "i"}
	const each = 10_000
	batch := func(n int) []string {
		names := make([]string, each)
		for i := range names {
			names[i] = fmt.Sprint("n", n*each+i)
		}
		return names
	}
	first := map[string]pdu.InstID{}
	for n := range 20 {
		ids, err := d.SetNames(batch(n)...)
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range batch(n) {
			first[name] = ids[i]
		}
		if len(d.Instances()) != each {
			t.Fatal(len(d.Instances()))
		}
	}
	same := func(n int) (same int) {
		ids, err := d.SetNames(batch(n)...)
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range batch(n) {
			if ids[i] == first[name] {
				same++
			}
		}
		return same
	}
	if n := same(16); n != each {
		t.Errorf("%d of the names that were gone lately have their IDs", n)
	}
	if n := same(2); n != 0 {
		t.Errorf("%d of the first names are remembered", n)
	}
}

// TestSetNamesShortName checks that a new name replaces a gone name that is the same up to the
// first space.
func TestSetNamesShortName(t *testing.T) {
	d := &pmda.InDom{Name: "i"}
	for i, s := range []struct {
		names []string
		want  []pdu.InstID
	}{
		{[]string{"a 1", "b"}, []pdu.InstID{0, 1}},
		{[]string{"b", "a 2"}, []pdu.InstID{1, 2}},
		{[]string{"a 1", "b"}, []pdu.InstID{3, 1}},
		{[]string{"b", "a"}, []pdu.InstID{1, 4}},
		{[]string{"b"}, []pdu.InstID{1}},
		{[]string{"b", "a"}, []pdu.InstID{1, 4}},
	} {
		if ids, err := d.SetNames(s.names...); err != nil || !slices.Equal(ids, s.want) {
			t.Errorf("step %d: %v, %v, want %v", i, ids, err, s.want)
		}
	}
}

// TestInteropInDomOfCache compares the replies to requests for instances with those of
// the C library's pmdaInstance for an instance domain that has a cache.
func TestInteropInDomOfCache(t *testing.T) {
	c := newCCache(t)
	a := &pmda.Agent{Name: "a", Domain: 200}
	var cache pmda.Cache[int]
	d := &pmda.InDom{Serial: pmda.InDomSerial(1), Name: "i", Cache: &cache}
	must(t, a.Attach(d))
	c.do("use 200 1")
	for _, n := range []string{"one 1", "two", "three", "four  x", "hidden", "culled"} {
		cache.Add(n, 0)
		c.do("store 2 %s 0", hexed(n))
	}
	cache.AddKey("keyed", "k", 0)
	c.do("key 2 %s %s 0", hexed("keyed"), hexed("k"))
	cache.Hide("hidden")
	c.do("store 3 %s 0", hexed("hidden"))
	cache.Cull("culled")
	c.do("store 4 %s 0", hexed("culled"))
	type question struct {
		inst pdu.InstID
		name string
	}
	questions := []question{{pdu.NoInst, ""}, {0, "one"}, {-2, ""}}
	for id := range pdu.InstID(8) {
		questions = append(questions, question{id, ""})
	}
	for _, n := range []string{"one", "one 1", "one 2", "one ", "on", "two", "two x", "four", "four  x", "four x", "hidden", "culled", "keyed", " ", "x"} {
		questions = append(questions, question{pdu.NoInst, n})
	}
	for _, q := range questions {
		list, err := a.Instances(t.Context(), request(), d.ID(), q.inst, q.name)
		var ours []string
		for _, i := range list {
			if q.inst == pdu.NoInst { // otherwise C has the name alone
				ours = append(ours, fmt.Sprint(i.ID))
			}
			if q.name == "" { // otherwise the ID alone
				ours = append(ours, hexed(i.Name))
			}
		}
		if err != nil {
			ours = []string{fmt.Sprint(int(pdu.FromError(err)))}
		}
		name := "-"
		if q.name != "" {
			name = hexed(q.name)
		}
		if theirs := c.do("instance %d %s", q.inst, name); theirs != strings.Join(ours, " ") {
			t.Errorf("%v: %q, want as in C %q", q, ours, theirs)
		}
	}
}
