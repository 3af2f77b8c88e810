package pmda_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// code returns the code of an error, or the ID.
func code(id pdu.InstID, err error) int {
	if err != nil {
		return int(pdu.FromError(err))
	}
	return int(id)
}

// TestCacheStore checks the results and error codes of pmdaCacheStore in C agents.
func TestCacheStore(t *testing.T) {
	var c pmda.Cache[string]
	const invalid = -22
	for i, s := range []struct {
		do   func(name string) (pdu.InstID, error)
		name string
		want int
	}{
		{add(&c, "1"), "foo bar", 0},
		{add(&c, "2"), "foo", 0},
		{add(&c, "3"), "foo baz", invalid},
		{add(&c, "4"), "b", 1},
		{add(&c, "5"), "b c", invalid},
		{c.Hide, "zz", int(pdu.ErrInst)},
		{c.Hide, "b c", invalid},
		{c.Hide, "b", 1},
		{c.Cull, "foo bat", invalid},
		{c.Cull, "foo", 0},
		{c.Cull, "foo", int(pdu.ErrInst)},
		{add(&c, "6"), "foo", 2},
		{add(&c, "7"), "b", 1},
		{add(&c, "8"), "", int(pdu.ErrGeneric)},
		{add(&c, "9"), " x", int(pdu.ErrGeneric)},
		{add(&c, "10"), "a\nb", int(pdu.ErrGeneric)},
	} {
		if got := code(s.do(s.name)); got != s.want {
			t.Errorf("step %d, %q: %d, want %d", i, s.name, got, s.want)
		}
	}
	want := []pmda.CacheEntry[string]{
		{Instance: pdu.Instance{ID: 1, Name: "b"}, Active: true, Value: "7"},
		{Instance: pdu.Instance{ID: 2, Name: "foo"}, Active: true, Value: "6"},
	}
	if diff := gocmp.Diff(want, slices.Collect(c.Active())); diff != "" {
		t.Errorf("active (-want +got):\n%s", diff)
	}
	_, err := c.Add("foo x", "")
	if want := `pmda: add instance "foo x": it and the instance "foo" are the same up to the first space: Invalid argument`; err == nil || err.Error() != want || !errors.Is(err, syscall.EINVAL) {
		t.Errorf("%v, want %s", err, want)
	}
}

func add[T any](c *pmda.Cache[T], value T) func(string) (pdu.InstID, error) {
	return func(name string) (pdu.InstID, error) { return c.Add(name, value) }
}

// TestCacheNames checks that a name finds the same instance as in the C library.
func TestCacheNames(t *testing.T) {
	for _, s := range []struct {
		cached, name string
		want         bool
	}{
		{"foodle", "foo", false},
		{"foo", "foodle", false},
		{"foo", "foo", true},
		{"foo bar", "foo", true},
		{"foo bar", "foo bar", true},
		{"foo", "foo bar", true}, // although it cannot be added
		{"foo bar", "foo blah", true},
		{"foo bar", "foo ", true},
		{"foo", "", false},
	} {
		var c pmda.Cache[int]
		if _, err := c.Add(s.cached, 5); err != nil {
			t.Fatal(err)
		}
		e, ok := c.LookupName(s.name)
		if ok != s.want || ok && (e.Name != s.cached || e.Value != 5 || e.ID != 0) {
			t.Errorf("%q finds %q: %v, %v, want %v", s.name, s.cached, ok, e, s.want)
		}
	}
}

// TestCacheStrings checks that spaces have no meaning in strings.
func TestCacheStrings(t *testing.T) {
	c := pmda.Cache[int]{Strings: true}
	all := []string{"", "a b", "a", "a c", " a", "\n"}
	for i, s := range all {
		if id, err := c.Add(s, i); id != pdu.InstID(i) || err != nil {
			t.Errorf("%q: %d, %v", s, id, err)
		}
	}
	for i, s := range all {
		if e, ok := c.LookupName(s); !ok || e.Value != i {
			t.Errorf("%q: %v, %v", s, e, ok)
		}
	}
}

// TestCacheIDs checks the IDs of new names.
func TestCacheIDs(t *testing.T) {
	var c pmda.Cache[int]
	names := 0
	ids := func(want ...int) {
		t.Helper()
		for i, w := range want {
			names++
			if got := code(c.Add(fmt.Sprint("n", names), 0)); got != w {
				t.Errorf("ID %d of %v: %d", i, want, got)
			}
		}
	}
	ids(0, 1, 2)
	if _, err := c.Add("three", 0); err != nil {
		t.Fatal(err)
	}
	if id := code(c.Cull("three")); id != 3 {
		t.Error(id)
	}
	ids(4)
	c.Reuse()
	ids(5) // culled instances have their IDs
	c.Reorg()
	ids(3, 6)
	for _, r := range []struct {
		highest pdu.InstID
		want    error
	}{{-1, pdu.ErrSign}, {5, pdu.ErrTooBig}, {math.MaxInt32, nil}, {7, nil}} {
		if err := c.Resize(r.highest); !errors.Is(err, r.want) {
			t.Errorf("resize to %d: %v, want %v", r.highest, err, r.want)
		}
	}
	ids(7, int(pdu.ErrGeneric), int(pdu.ErrGeneric))
	if err := c.Resize(8); err != nil {
		t.Error(err)
	}
	ids(8, int(pdu.ErrGeneric))

}

// TestCacheExhausted checks that all IDs up to the highest can be used, as in PCP 6. PCP 7 gives
// one more.
func TestCacheExhausted(t *testing.T) {
	var c pmda.Cache[int]
	if err := c.Resize(2); err != nil {
		t.Error(err)
	}
	for i, want := range []int{0, 1, 2, int(pdu.ErrGeneric)} {
		if got := code(c.Add(fmt.Sprint("n", i), 0)); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
}

// TestCacheKeys checks that the IDs of keys are those of the C library.
func TestCacheKeys(t *testing.T) {
	var c pmda.Cache[int]
	for i, s := range []struct {
		name, key string
		want      int
	}{
		{"boring instance", "", 1147092322},
		{"boring", "", int(pdu.ErrInst)},
		{"boring", "boring instance", 1147092322},
		{"another", "\x01\x02\x03\xff\x80", 1159488978},
		{"a longer name than twelve bytes", "", 114837570},
		{"x", "boring instance", int(pdu.ErrInst)},
		{"another", "x", int(pdu.ErrInst)},
		{"another one", "\x01\x02\x03\xff\x80", -22},
		{"", "y", int(pdu.ErrGeneric)},
	} {
		if got := code(c.AddKey(s.name, s.key, i)); got != s.want {
			t.Errorf("%q by %q: %d, want %d", s.name, s.key, got, s.want)
		}
	}
	if e, ok := c.LookupKey("boring instance"); !ok || e.ID != 1147092322 || e.Name != "boring instance" || e.Key != e.Name || e.Value != 2 {
		t.Errorf("%v, %v", e, ok)
	}
	if id := code(c.Add("first", 0)); id != 0 { // not the one after the highest
		t.Error(id)
	}
	if id := code(c.Add("boring", 9)); id != 1147092322 {
		t.Error(id)
	}
	if e, ok := c.LookupKey("boring instance"); ok {
		t.Errorf("Add leaves the key: %v", e)
	}
	if e, ok := c.LookupKey(""); ok {
		t.Errorf("no key finds %v", e)
	}
}

// TestCacheKeyRange checks that Resize limits the IDs of keys, too.
func TestCacheKeyRange(t *testing.T) {
	var c pmda.Cache[int]
	const highest = 32
	if err := c.Resize(highest); err != nil {
		t.Fatal(err)
	}
	added := 0
	for i := range 20 {
		id, err := c.AddKey(fmt.Sprint("name", i), fmt.Sprint("key", i), i)
		switch {
		case err == nil && (id < 0 || id > highest):
			t.Errorf("key %d has ID %d", i, id)
		case err == nil:
			added++
		case !errors.Is(err, pdu.ErrGeneric):
			t.Error(err)
		}
	}
	if added < 15 {
		t.Errorf("%d keys have IDs", added)
	}
}

// TestCacheKeyInUse checks that AddKey skips IDs that are in use, ten times at most.
func TestCacheKeyInUse(t *testing.T) {
	for _, s := range []struct {
		key       string
		id, after pdu.InstID
	}{
		{"boring instance", 1147092322, 1896115154},
		{"\x01\x02\x03\xff\x80", 1159488978, 574615975},
		{"a longer name than twelve bytes", 114837570, 2073126376},
	} {
		c := cacheOf(t, fmt.Sprintf("%d 1 x\n", s.id))
		if id, err := c.AddKey("y", s.key, ""); id != s.after || err != nil {
			t.Errorf("%q: %d, %v, want %d", s.key, id, err, s.after)
		}
	}
}

// TestCacheKeyRefused checks that a refused AddKey does not change how IDs are chosen.
func TestCacheKeyRefused(t *testing.T) {
	var c pmda.Cache[string]
	for _, name := range []string{"a", "b", "c"} {
		c.Add(name, "")
	}
	if _, err := c.Cull("b"); err != nil {
		t.Fatal(err)
	}
	c.Reorg()
	if _, err := c.AddKey("\n", "key", ""); err == nil {
		t.Error("a line feed as a name was accepted")
	}
	if id, err := c.Add("d", ""); id != 3 || err != nil {
		t.Errorf("the next instance has the ID %d, %v, want 3", id, err)
	}
}

// TestCacheAll checks the operations on all instances.
func TestCacheAll(t *testing.T) {
	var c pmda.Cache[int]
	for i := range 10 {
		c.Add(fmt.Sprint("n", i), i)
	}
	for i, s := range []struct {
		do               func() int
		n                int
		active, inactive int
	}{
		{c.HideAll, 10, 0, 10},
		{c.HideAll, 0, 0, 10},
		{func() int { c.Add("n7", 70); c.Cull("n3"); return 0 }, 0, 1, 8},
		{c.ActivateAll, 8, 9, 0},
		{c.ActivateAll, 0, 9, 0},
		{func() int { c.Hide("n1"); return 0 }, 0, 8, 1},
		{c.CullAll, 9, 0, 0},
		{c.CullAll, 0, 0, 0},
	} {
		n := s.do()
		if active, inactive := c.Size(); n != s.n || active != s.active || inactive != s.inactive {
			t.Errorf("step %d: %d, %d active, %d inactive, want %v", i, n, active, inactive, s)
		}
	}
	if id := code(c.Add("n7", 7)); id != 10 {
		t.Errorf("after CullAll: %d", id)
	}
}

// TestCachePurge checks that instances added since the latest Save stay.
func TestCachePurge(t *testing.T) {
	c := cacheOf(t, "0 1 old\n7 1 back\n3 1 [6b] keyed\n")
	c.Add("back", "b")
	c.Add("new", "n")
	c.Add("keyed", "k")
	c.Sync()
	c.Add("late", "l")
	var got []pmda.CacheEntry[string]
	if n := c.Purge(time.Hour, func(e pmda.CacheEntry[string]) {
		got = append(got, e)
		if _, ok := c.Lookup(e.ID); ok { // the Cache can be used meanwhile
			t.Errorf("%v is there yet", e)
		}
	}); n != 1 {
		t.Error(n)
	}
	want := []pmda.CacheEntry[string]{{Instance: pdu.Instance{ID: 0, Name: "old"}}}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("purged (-want +got):\n%s", diff)
	}
	got = nil
	if n := c.Purge(-time.Minute, func(e pmda.CacheEntry[string]) { got = append(got, e) }); n != 3 {
		t.Error(n)
	}
	want = []pmda.CacheEntry[string]{
		{Instance: pdu.Instance{ID: 3, Name: "keyed"}, Active: true, Value: "k"},
		{Instance: pdu.Instance{ID: 7, Name: "back"}, Active: true, Value: "b"},
		{Instance: pdu.Instance{ID: 8, Name: "new"}, Active: true, Value: "n"},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("purged (-want +got):\n%s", diff)
	}
	if n := c.Purge(-time.Minute, nil); n != 0 {
		t.Errorf("the last one: %d", n)
	}
	if e, ok := c.LookupName("late"); !ok || e.ID != 9 {
		t.Error(e, ok)
	}
}

// TestCacheWalk checks that the Cache may change during a loop.
func TestCacheWalk(t *testing.T) {
	var c pmda.Cache[int]
	for _, key := range []string{"e", "a", "d", "c", "b"} { // in no order of ID
		c.AddKey(key, "", 0)
	}
	var all []pdu.InstID
	for e := range c.Active() {
		all = append(all, e.ID)
	}
	if !slices.IsSorted(all) || len(all) != 5 {
		t.Error(all)
	}
	var got []string
	for e := range c.Active() {
		got = append(got, e.Name)
		if len(got) == 1 {
			for _, i := range slices.Collect(c.Active())[2:4] {
				c.Cull(i.Name)
			}
			c.Reorg()
			c.Add("before", 0) // its ID is 0
			c.AddKey("after", "", 0)
		}
	}
	after, _ := c.LookupName("after")
	first, _ := c.Lookup(all[0])
	if want := 3; after.ID > first.ID {
		if want++; len(got) != want || !slices.Contains(got, "after") {
			t.Errorf("%q, want %d", got, want)
		}
	} else if len(got) != want {
		t.Errorf("%q, want %d", got, want)
	}
	if slices.Contains(got, "before") {
		t.Error(got)
	}
	c.HideAll()
	n := 0
	for e := range c.Inactive() {
		c.Add(e.Name, 1)
		if n++; n == 3 {
			break
		}
	}
	if active, inactive := c.Size(); active != 3 || inactive != 2 {
		t.Errorf("%d active, %d inactive", active, inactive)
	}
}

// TestCacheReplace checks that Replace changes all instances or, on an error, nothing.
func TestCacheReplace(t *testing.T) {
	var c pmda.Cache[string]
	list := func(names ...string) func(yield func(string, string) bool) {
		return func(yield func(string, string) bool) {
			for _, n := range names {
				if !yield(n, "value of "+n) {
					return
				}
			}
		}
	}
	d := &pmda.InDom{Name: "i", Cache: &c}
	for i, s := range []struct {
		names []string
		want  []pdu.Instance
		err   string
	}{
		{[]string{"b", "a"}, []pdu.Instance{{ID: 0, Name: "b"}, {ID: 1, Name: "a"}}, ""},
		{[]string{"a", "c 1"}, []pdu.Instance{{ID: 1, Name: "a"}, {ID: 2, Name: "c 1"}}, ""},
		{[]string{"d", "d"}, []pdu.Instance{{ID: 1, Name: "a"}, {ID: 2, Name: "c 1"}}, `"d" is given twice`},
		{[]string{"d", "d e"}, []pdu.Instance{{ID: 1, Name: "a"}, {ID: 2, Name: "c 1"}}, `"d" and "d e" are the same up to the first space`},
		{[]string{"d", ""}, []pdu.Instance{{ID: 1, Name: "a"}, {ID: 2, Name: "c 1"}}, `instance "": needs a name`},
		{[]string{"c 2", "b"}, []pdu.Instance{{ID: 0, Name: "b"}, {ID: 3, Name: "c 2"}}, ""},
		{[]string{"c", "b"}, []pdu.Instance{{ID: 0, Name: "b"}, {ID: 4, Name: "c"}}, ""},
		{[]string{"c", "b"}, []pdu.Instance{{ID: 0, Name: "b"}, {ID: 4, Name: "c"}}, ""},
		{nil, nil, ""},
	} {
		err := c.Replace(list(s.names...))
		if (err == nil) != (s.err == "") || err != nil && !strings.Contains(err.Error(), s.err) {
			t.Errorf("step %d: %v, want %q", i, err, s.err)
		}
		if got := d.Instances(); !slices.Equal(got, s.want) {
			t.Errorf("step %d: %v, want %v", i, got, s.want)
		}
		for e := range c.Active() {
			if e.Value != "value of "+e.Name {
				t.Errorf("step %d: %v", i, e)
			}
		}
	}
	if err := c.Resize(5); err != nil {
		t.Fatal(err)
	}
	if err := c.Replace(list("x", "y")); err == nil || !strings.Contains(err.Error(), "no IDs are left") {
		t.Error(err)
	}
	if err := c.Replace(list("x", "a")); err != nil {
		t.Error(err)
	}
}

// TestCacheCulled checks that a Cache drops culled instances when there are many. Their IDs are
// used again.
func TestCacheCulled(t *testing.T) {
	var c pmda.Cache[int]
	c.Reuse()
	c.Add("stays", 7)
	highest := 0
	for i := range 100_000 {
		name := fmt.Sprint("n", i)
		highest = max(highest, code(c.Add(name, i)))
		if e, ok := c.LookupName(name); !ok || e.Value != i {
			t.Fatal(e, ok)
		}
		c.Cull(name)
	}
	if highest > 3000 {
		t.Errorf("the highest ID is %d", highest)
	}
	if e, ok := c.LookupName("stays"); !ok || e.ID != 0 || e.Value != 7 {
		t.Error(e, ok)
	}
}

// TestCacheCulledValue checks that an instance that replaces a culled one on Load does not get its
// value.
func TestCacheCulledValue(t *testing.T) {
	for name, cull := range map[string]func(c *pmda.Cache[string]){
		"Cull":    func(c *pmda.Cache[string]) { c.Cull("a") },
		"CullAll": func(c *pmda.Cache[string]) { c.CullAll() },
		"Purge":   func(c *pmda.Cache[string]) { c.Sync(); c.Purge(-time.Minute, nil) },
		"Replace": func(c *pmda.Cache[string]) {
			c.Replace(func(yield func(string, string) bool) {})
			c.Replace(func(yield func(string, string) bool) { yield("a 2", "new") })
			c.Cull("a 2")
		},
	} {
		c := new(pmda.Cache[string])
		c.Add("a", "old")
		cull(c)
		c.File = writeFile(t, cacheHeader+"0 1 b\n")
		if n, err := c.Load(); n != 1 || err != nil {
			t.Error(n, err)
		}
		if e, ok := c.Lookup(0); !ok || e.Name != "b" || e.Value != "" || e.Active {
			t.Errorf("%s: %v, %v", name, e, ok)
		}
	}
}

// TestCacheConcurrently checks that concurrent calls leave the Cache consistent.
func TestCacheConcurrently(t *testing.T) {
	var c pmda.Cache[string]
	d := &pmda.InDom{Name: "i", Cache: &c}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 300 {
				name := fmt.Sprint("n", (i*7+g)%40)
				switch i % 7 {
				case 0, 1, 2:
					if _, err := c.Add(name, name); err != nil {
						t.Error(err)
					}
				case 3:
					c.AddKey(name, name, name) // which fails if it was added without
				case 4:
					c.Hide(name)
				case 5:
					c.Cull(name)
				case 6:
					c.Reorg()
					c.Purge(0, nil)
				}
			}
		})
		wg.Go(func() {
			for range 100 {
				for e := range c.Active() {
					if e.Value != e.Name {
						t.Errorf("%v", e)
					}
				}
				if list := d.Instances(); !slices.IsSortedFunc(list, func(a, b pdu.Instance) int { return int(a.ID - b.ID) }) {
					t.Errorf("%v", list)
				}
				if e, ok := c.LookupName(fmt.Sprint("n", g)); ok && e.Value != e.Name {
					t.Errorf("%v", e)
				}
			}
		})
	}
	wg.Wait()
	active, _ := c.Size()
	if n := len(slices.Collect(c.Active())); n != active || n != len(d.Instances()) {
		t.Errorf("%d, %d, %d", n, active, len(d.Instances()))
	}
}
