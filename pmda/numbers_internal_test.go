package pmda

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/pdu"
)

func numberedMetric(name string) Metric[int32] {
	return Metric[int32]{Name: name, Value: func(context.Context, *Request, pdu.Instance) (int32, error) { return 1, nil }}
}

// TestAllNumbersUsed checks that an agent without free numbers refuses a metric, and accepts it
// when a number is free again.
func TestAllNumbersUsed(t *testing.T) {
	a := &Agent{Name: "a", Domain: 251}
	var leaf numberLeaf[metric]
	var page numberPage[metric]
	var root numberRoot[metric]
	other := &metric{name: "other"}
	for i := range leaf.of {
		leaf.of[i] = other
	}
	for i := range page.of {
		page.of[i] = &leaf
	}
	for i := range root.of {
		root.of[i] = &page
	}
	a.tablesLocked().items = numberMap[metric]{root: &root}
	for range 2 {
		if err := Register(a, numberedMetric("a.x")); err == nil || !strings.HasPrefix(err.Error(), `pmda: agent a: register "a.x": all 4194304 numbers are in use (`) {
			t.Fatalf("Register: %v", err)
		}
	}
	free := Item(2000, 7)
	a.tables.items.set(free.number(), nil)
	if err := Register(a, numberedMetric("a.x")); err != nil {
		t.Fatal(err)
	}
	if m := a.tables.items.get(free.number()); m == nil || m.name != "a.x" {
		t.Errorf("the free number has %v", m)
	}
}

// TestNumbersForgotten checks that the memory for removed metrics is limited.
func TestNumbersForgotten(t *testing.T) {
	a := &Agent{Name: "a", Domain: 251}
	for i := range 5000 {
		name := fmt.Sprint("a.x", i)
		if err := Register(a, numberedMetric(name)); err != nil {
			t.Fatal(err)
		}
		if err := a.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if g, n := len(a.numbers.given), len(a.numbers.names); g != itemsOfCluster || n != g || a.numbers.clusters != 1 {
		t.Errorf("%d numbers and %d names are remembered, in %d clusters", g, n, a.numbers.clusters)
	}
}

// TestNumberMap compares a numberMap with a map, and its snapshots with copies of the map.
func TestNumberMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type state struct {
			m    numberMap[int]
			want map[uint32]int
		}
		var m numberMap[int]
		want := map[uint32]int{}
		var states []state
		numbers := rapid.OneOf(rapid.Uint32Range(0, 200), rapid.Uint32Range(0, numberBits))
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			n, v := numbers.Draw(t, "number"), rapid.IntRange(0, 3).Draw(t, "value")
			if v == 0 {
				m.set(n, nil)
				delete(want, n)
			} else {
				m.set(n, &v)
				want[n] = v
			}
			if rapid.Bool().Draw(t, "snapshot") {
				states = append(states, state{m.snapshot(), maps.Clone(want)})
			}
		}
		for _, s := range append(states, state{m, want}) {
			got, before := map[uint32]int{}, -1
			for n, v := range s.m.all() {
				if int(n) <= before || s.m.get(n) != v {
					t.Errorf("number %d: after %d, or not found", n, before)
				}
				got[n], before = *v, int(n)
			}
			if !maps.Equal(got, s.want) {
				t.Errorf("got %v, want %v", got, s.want)
			}
		}
	})
}
