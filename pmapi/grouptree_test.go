package pmapi_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// treeText returns the metrics of a tree, with their instances and values.
func treeText(tree *pmapi.Tree[float64]) string {
	var b strings.Builder
	for name, set := range tree.All() {
		fmt.Fprintf(&b, "%s:", strings.TrimPrefix(name, "disk."))
		if err := set.Err(); err != nil {
			fmt.Fprintf(&b, " %v", pdu.FromError(err))
		}
		for i, v := range set.All() {
			fmt.Fprintf(&b, " %s=%v", i.Name, v)
		}
		b.WriteString("; ")
	}
	return strings.TrimSuffix(b.String(), "; ")
}

func TestTree(t *testing.T) {
	s := newGroupFixture(t, false)
	s.add("disk.bytes", pdu.Desc{Type: pdu.TypeAggregate, Sem: pdu.SemInstant}, nil)
	g := s.src.Context().Group()
	tree := pmapi.AddTree[float64](g, "disk", pmapi.Scale("instant"))
	expect := func(want string) {
		t.Helper()
		if _, err := g.Fetch(t.Context()); err != nil || g.Err() != nil {
			t.Fatal(err, g.Err())
		}
		if got := treeText(tree); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	const reads, temp, bytes = "reads: sda=10 sdb solid=20 sdc=30", "temp: sda=0.5 sdb solid=1.5 sdc=2.5", "bytes: Unknown or illegal metric type"
	expect(reads + "; " + temp + "; " + bytes)
	if got := s.requestsMade(); got != "Traverse Lookup Descs Fetch Instances" {
		t.Error(got)
	}
	expect(reads + "; " + temp + "; " + bytes)
	if got := s.requestsMade(); got != "Fetch" {
		t.Error(got)
	}

	writes := s.add("disk.writes", pdu.Desc{Type: pdu.TypeU32, Sem: pdu.SemInstant}, s.disks)
	writes.Set(pdu.Uint32(7))
	var sets []*pmapi.Set[float64]
	for _, set := range tree.All() {
		sets = append(sets, set)
	}
	s.temp.Remove()
	expect(reads + "; " + bytes + "; writes: " + pdu.ErrAgain.Error()) // the fetch that reports it
	expect(reads + "; " + bytes + "; writes: sda=7")
	for name, set := range tree.All() {
		if strings.HasSuffix(name, "reads") && set != sets[0] {
			t.Error("disk.reads has another Set")
		}
	}
	if err := sets[1].Err(); !errors.Is(err, pdu.ErrArg) || sets[1].Len() != 0 {
		t.Errorf("a metric that has gone: %v", err)
	}

	tree.Remove()
	if _, err := g.Fetch(t.Context()); !errors.Is(err, pdu.ErrTooSmall) || treeText(tree) != "" || !errors.Is(tree.Err(), pdu.ErrArg) {
		t.Errorf("removed: %v, %v", err, tree.Err())
	}
}

// TestTreeUnknown has no metrics below a name at first, and some later.
func TestTreeUnknown(t *testing.T) {
	s := newGroupFixture(t, false)
	g := s.c.Group()
	tree := pmapi.AddTree[float64](g, "network")
	if _, err := g.Fetch(t.Context()); !errors.Is(err, pdu.ErrName) || !errors.Is(tree.Err(), pdu.ErrName) {
		t.Fatal(err, tree.Err())
	}
	size := pmapi.Add[float64](g, "size", pmapi.Scale("instant"))
	if _, err := g.Fetch(t.Context()); err != nil || !errors.Is(g.Err(), pdu.ErrName) {
		t.Fatal(err, g.Err())
	}
	s.add("network.in", pdu.Desc{Type: pdu.TypeU32, Sem: pdu.SemInstant}, nil).Set(pdu.Uint32(8))
	for range 2 {
		if _, err := g.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := treeText(tree); got != "network.in: =8" || g.Err() != nil || size.Err() != nil {
		t.Error(got, g.Err(), size.Err())
	}
}

// TestTreeMisfits has no metric that fits.
func TestTreeMisfits(t *testing.T) {
	s := newGroupFixture(t, false)
	g := s.c.Group()
	pmapi.AddTree[float64](g, "disk", pmapi.Scale("degree"))
	for range 2 {
		if _, err := g.Fetch(t.Context()); !errors.Is(err, pdu.ErrConv) {
			t.Error(err)
		}
	}
}

func TestTreeColumns(t *testing.T) {
	src := &pmapitest.Source{Start: time.Unix(1e9, 0), End: time.Unix(1e9+5, 0)}
	value := func(now time.Time, _ pdu.Instance) (float64, error) { return float64(now.Unix() - 1e9), nil }
	a := pmapitest.Add(src, pmapitest.Metric[float64]{Name: "t.a", Value: value})
	pmapitest.Add(src, pmapitest.Metric[float64]{Name: "t.c", Value: value})
	g := src.Context().Group()
	pmapi.Add[float64](g, "t.c")
	pmapi.AddTree[float64](g, "t")
	pmapitest.Add(src, pmapitest.Metric[float64]{Name: "last", Value: func(now time.Time, i pdu.Instance) (float64, error) {
		switch now.Unix() - 1e9 {
		case 1:
			a.Remove()
		case 3:
			pmapitest.Add(src, pmapitest.Metric[float64]{Name: "t.b", Value: value})
		}
		return value(now, i)
	}})
	pmapi.Add[float64](g, "last")
	_, cols, err := g.Columns(t.Context(), time.Second, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range cols {
		text := c.Metric
		for _, v := range c.Values {
			if math.IsNaN(v) {
				text += " -"
			} else {
				text += fmt.Sprintf(" %v", v)
			}
		}
		got = append(got, text)
	}
	// t.b came during the fetch of 3, which that of 4 reported.
	if want := "t.c 0 1 2 3 4 5; last 0 1 2 3 4 5; t.c 0 1 2 3 4 5; t.b - - - - - 5; t.a 0 1 - - - -"; strings.Join(got, "; ") != want {
		t.Errorf("got %q", got)
	}
}

func TestRemove(t *testing.T) {
	s := newGroupFixture(t, false)
	g := s.c.Group()
	size := pmapi.Add[float64](g, "size")
	sda := pmapi.Add[float64](g, "disk.reads", pmapi.Instance("sda"))
	sdb := pmapi.Add[float64](g, "disk.reads", pmapi.Instance("sdb"))
	unknown := pmapi.Add[float64](g, "no.such")
	fetch := func() error {
		s.src.Advance(time.Second)
		_, err := g.Fetch(t.Context())
		return err
	}
	if err := fetch(); err != nil || !errors.Is(g.Err(), pdu.ErrName) {
		t.Fatal(err, g.Err())
	}
	unknown.Remove()
	sda.Remove()
	sda.Remove() // does nothing
	s.requestsMade()
	if err := fetch(); err != nil || g.Err() != nil {
		t.Fatal(err, g.Err())
	}
	if got := s.requestsMade(); got != "Fetch" {
		t.Errorf("requests: %s", got)
	}
	if v, err := sdb.Value(); v != 0 || err != nil {
		t.Errorf("a rate that goes on: %v, %v", v, err)
	}
	if _, err := sda.Value(); !errors.Is(err, pdu.ErrArg) || !strings.Contains(err.Error(), "disk.reads") {
		t.Errorf("removed: %v", err)
	}
	sdb.Remove()
	size.Remove()
	if err := fetch(); !errors.Is(err, pdu.ErrTooSmall) {
		t.Errorf("empty: %v", err)
	}
	again := pmapi.Add[float64](g, "size", pmapi.Scale("instant"))
	if err := fetch(); err != nil || again.Err() != nil {
		t.Error(err, again.Err())
	}
}

// TestRemoveLastGood removes the only item that can be resolved.
func TestRemoveLastGood(t *testing.T) {
	s := newGroupFixture(t, false)
	g := s.c.Group()
	size := pmapi.Add[float64](g, "size")
	pmapi.Add[float64](g, "no.such")
	if _, err := g.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	size.Remove()
	if _, err := g.Fetch(t.Context()); !errors.Is(err, pdu.ErrName) {
		t.Error(err)
	}
}
