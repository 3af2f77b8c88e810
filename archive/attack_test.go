package archive_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// allocated returns the number of bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestMetadataLimitCountsNodes checks that Options.MaxMetadata counts the nodes of the name space.
// Names of many components take 90 times their own size there.
func TestMetadataLimitCountsNodes(t *testing.T) {
	for _, c := range []struct {
		name    string
		add     func(m *maker, i int)
		refused bool
	}{
		{"components", func(m *maker, i int) {
			d := valueMetric
			d.PMID = pdu.MakePMID(1, 1, i)
			d.Names = []string{fmt.Sprintf("n%d", i) + strings.Repeat(".a", 1900)}
			m.desc(d)
		}, true},
		{"instance domains", func(m *maker, i int) {
			for j := range 100 {
				m.indom(archive.TypeInDom, epoch, pdu.MakeInDom(1, 100*i+j), pdu.Instance{ID: 1})
			}
		}, true},
		{"usual names", func(m *maker, i int) {
			d := valueMetric
			d.PMID = pdu.MakePMID(1, 1, i)
			d.Names = []string{fmt.Sprintf("disk.dev.%s.read%d", strings.Repeat("long", 100), i)}
			m.desc(d)
		}, false},
	} {
		files := fstest.MapFS{}
		m := newMaker(files, "a", 3, epoch)
		delete(files, "a.index")
		m.value(0, at(1), 1)
		for i := range 100 {
			c.add(m, i)
		}
		s, err := archive.Options{FS: files, MaxMetadata: 2 << 20}.Open(t.Context(), "a")
		if err == nil {
			s.Close()
		}
		if refused := err != nil && strings.Contains(err.Error(), "Options.MaxMetadata"); refused != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestManyNamesOfOneMetric reads many records that each add a name to one metric. The memory is
// proportional to the names.
func TestManyNamesOfOneMetric(t *testing.T) {
	n := pcptest.AttackSize(3000, 40_000)
	files := fstest.MapFS{}
	m := newMaker(files, "a", 3, epoch)
	delete(files, "a.index")
	m.value(0, at(1), 1)
	want := []string{"a.value"}
	for i := range n {
		d := valueMetric
		d.Names = []string{fmt.Sprintf("a.n%d", i), "a.value"}
		want = append(want, d.Names[0])
		m.desc(d)
	}
	var s *archive.Set
	pcptest.Attack(t, func() {
		if b := allocated(func() { s = open(t, files, "a") }); b > uint64(n)*2800 {
			t.Errorf("%d bytes for %d names", b, n)
		}
	}, nil)
	for d := range s.Metadata().Metrics() {
		if diff := cmp.Diff(want, d.Names); diff != "" {
			t.Errorf("names (-want +got)\n%s", diff)
		}
	}
}

// TestManyDeltas reads the last of many states. The work is proportional to the number of deltas,
// not to its square.
func TestManyDeltas(t *testing.T) {
	n := pcptest.AttackSize(20_000, 100_000)
	files := fstest.MapFS{}
	m := newMaker(files, "a", 3, epoch)
	delete(files, "a.index")
	m.value(0, at(1), 1)
	d := pdu.MakeInDom(1, 1)
	m.indom(archive.TypeInDom, epoch, d, pdu.Instance{ID: 0, Name: "i0"})
	for i := 1; i < n; i++ {
		m.indom(archive.TypeInDomDelta, at(float64(i)), d, pdu.Instance{ID: pdu.InstID(i), Name: "i"})
	}
	var in *archive.InDom
	pcptest.Attack(t, func() { in = open(t, files, "a").Metadata().InDom(d) }, nil)
	pcptest.Attack(t, func() {
		b := allocated(func() {
			for _, i := range []int{n - 1, n / 2, n/2 + 100, 1} {
				if got := in.State(i); len(got) != i+1 || got[i].ID != pdu.InstID(i) {
					t.Errorf("state %d has %d instances", i, len(got))
				}
			}
		})
		if b > uint64(n)*2100 {
			t.Errorf("%d bytes for %d deltas", b, n)
		}
	}, nil)
}

// TestStatesInAnyOrder reads states in random order. The order does not change them.
func TestStatesInAnyOrder(t *testing.T) {
	const n = 400
	r := rand.New(rand.NewPCG(1, 2))
	files := fstest.MapFS{}
	m := newMaker(files, "a", 3, epoch)
	delete(files, "a.index")
	m.value(0, at(1), 1)
	d := pdu.MakeInDom(1, 1)
	m.indom(archive.TypeInDom, epoch, d, pdu.Instance{ID: 3, Name: "three"})
	for i := 1; i < n; i++ {
		var changes []pdu.Instance
		for range 1 + r.IntN(5) {
			name := "-"
			if r.IntN(3) > 0 {
				name = fmt.Sprint("n", i, r.IntN(9))
			}
			changes = append(changes, pdu.Instance{ID: pdu.InstID(r.IntN(150)), Name: name})
		}
		m.indom(archive.TypeInDomDelta, at(float64(i)), d, changes...)
	}
	inOrder := open(t, files, "a").Metadata().InDom(d)
	states := make([][]pdu.Instance, n)
	for i := range n {
		states[i] = slices.Clone(inOrder.State(i))
	}
	jumping := open(t, files, "a").Metadata().InDom(d)
	for range 200 {
		i := r.IntN(n)
		if diff := cmp.Diff(states[i], jumping.State(i)); diff != "" {
			t.Fatalf("state %d (-in order +jumping)\n%s", i, diff)
		}
	}
}

// TestSeekWithMisleadingIndex checks that a seek with an index of only wrong entries costs little
// more than one without an index.
func TestSeekWithMisleadingIndex(t *testing.T) {
	files := fstest.MapFS{}
	m := newMaker(files, "a", 3, epoch)
	const n = 20_000
	var last int64
	for i := range n {
		last = m.value(0, at(float64(i)), 1)
	}
	for i := range n {
		m.index(archive.IndexEntry{Time: at(float64(i)), Meta: 1, Data: last - 100_001 - int64(i*48)%400_000})
	}
	var read atomic.Int64
	s, err := archive.Options{FS: countingFS{files, &read}}.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := s.Cursor()
	read.Store(0)
	end := at(float64(n - 1))
	pcptest.Attack(t, func() {
		if err := c.SeekNext(end); err != nil {
			t.Fatal(err)
		}
	}, nil)
	if err := c.Next(); err != nil || !c.Time().Equal(end) {
		t.Errorf("%v, %v", c.Time(), err)
	}
	if size := int64(len(files["a.0"].Data)); read.Load() > 8*size {
		t.Errorf("%d bytes read for one seek in %d", read.Load(), size)
	}
}
