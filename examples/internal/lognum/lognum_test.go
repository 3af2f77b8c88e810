package lognum

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// load loads the files of an archive.
func load(t *testing.T, base string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	for _, suffix := range []string{".0", ".meta", ".index"} {
		b, err := os.ReadFile(base + suffix)
		if err != nil {
			t.Fatal(err)
		}
		files["a"+suffix] = &fstest.MapFile{Data: b}
	}
	return files
}

// read reads all records and compares them with what package archive makes of them. It returns how
// many records were like one before.
func read(t *testing.T, files fstest.MapFS) (same int) {
	t.Helper()
	set, err := archive.Options{FS: files}.Open(t.Context(), "a")
	if err != nil {
		return 0
	}
	defer set.Close()
	r := NewReader[int](set.Metadata())
	c := set.Cursor()
	for c.Next() == nil {
		sets, err := r.Read(c)
		result, want := c.Result()
		if !errors.Is(err, want) && (err == nil || err.Error() != want.Error()) {
			t.Fatalf("record at %d: error %v, want %v", c.Record().Offset, err, want)
		}
		if err != nil {
			return same
		}
		if len(sets) != result.Len() {
			t.Fatalf("record at %d: %d sets, want %d", c.Record().Offset, len(sets), result.Len())
		}
		for i, values := range result.All() {
			compare(t, &sets[i], values)
		}
		for _, l := range r.layouts {
			if l.refill(c.Record().Raw) {
				same++
			}
		}
	}
	return same
}

// compare compares a set with what package pdu makes of it.
func compare(t *testing.T, set *Set[int], values pdu.ValueSet) {
	t.Helper()
	if set.ID != values.PMID || !errors.Is(set.Err, values.Err()) || set.Len != values.Len() {
		t.Fatalf("set of %v, error %v, %d values, want %v, %v, %d", set.ID, set.Err, set.Len, values.PMID, values.Err(), values.Len())
	}
	if want := set.Len; set.Numeric && len(set.Numbers) != want {
		t.Fatalf("%v: %d numbers, want %d", set.ID, len(set.Numbers), want)
	}
	for i, n := range set.Numbers {
		a := values.Atom(i, set.Desc.Type)
		want, err := pdu.As[float64](a)
		if a.Type != set.Desc.Type {
			err = pdu.ErrConv
		} else if untyped, ok := Untyped(values, i, set.Desc.Type); ok {
			want, err = pdu.As[float64](untyped)
		}
		if n.Err != pdu.FromError(err) || n.Err == 0 && math.Float64bits(n.Value) != math.Float64bits(want) {
			t.Fatalf("%v: number %v, %v, want %v, %v", set.ID, n.Value, n.Err, want, err)
		}
		if inst := values.Inst(i); n.Series >= 0 && set.Desc.InDom != pdu.NoInDom && set.Insts[n.Series] != inst {
			t.Fatalf("%v: instance %d, want %d", set.ID, set.Insts[n.Series], inst)
		}
		if n.Series < 0 && n.Err == 0 {
			t.Fatalf("%v: a number without a series", set.ID)
		}
	}
}

func TestRead(t *testing.T) {
	for _, version := range []string{"v2", "v3"} {
		read(t, load(t, "../../../archive/testdata/"+version))
	}
}

// TestReadVersions reads archives of both versions as one set, in each order.
func TestReadVersions(t *testing.T) {
	for _, versions := range [][2]int{{2, 3}, {3, 2}} {
		dir := t.TempDir()
		for i, version := range versions {
			label := archive.Label{Version: version, Host: "web1", TimeZone: "UTC"}
			im, err := logimport.New(filepath.Join(dir, string(rune('a'+i))), archive.WriterOptions{Label: label})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := im.AddMetric("m.x", pdu.Desc{Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: pdu.SemInstant}); err != nil {
				t.Fatal(err)
			}
			for n := range 2 {
				if err := im.Put("m.x", "", pdu.Float64(float64(2*i+n))); err != nil {
					t.Fatal(err)
				}
				if err := im.Write(time.Unix(int64(1000+60*i+n), 0)); err != nil {
					t.Fatal(err)
				}
			}
			if err := im.Close(); err != nil {
				t.Fatal(err)
			}
		}
		set, err := archive.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		r := NewReader[int](set.Metadata())
		var got []float64
		c := set.Cursor()
		for c.Next() == nil {
			sets, err := r.Read(c)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range sets {
				got = append(got, s.Numbers[0].Value)
			}
		}
		if want := []float64{0, 1, 2, 3}; !slices.Equal(got, want) {
			t.Errorf("versions %v: values %v, want %v", versions, got, want)
		}
	}
}

// TestInteropRead reads archives of PCP's test suite, as they are and with flipped bits.
func TestInteropRead(t *testing.T) {
	const suite = "/var/lib/pcp/testsuite/archives/"
	pcptest.Need(t, suite)
	for _, name := range []string{"ok-foo", "wrap", "omnibus_v3", "procpid-encode", "cputime", "bozo.client_v2"} {
		files := load(t, filepath.Join(suite, name))
		if same := read(t, files); same == 0 {
			t.Errorf("%s: %d records like one before", name, same)
		}
		whole := files["a.0"].Data
		r := rand.New(rand.NewPCG(uint64(len(whole)), 6))
		for range 200 {
			b := slices.Clone(whole)
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
			files["a.0"].Data = b
			read(t, files)
		}
	}
}

// TestLayouts reads records with more layouts than are kept.
func TestLayouts(t *testing.T) {
	r := NewReader[int](nil)
	for i := range 2 * maxLayouts {
		r.layout(layoutKey{count: uint32(i)})
		if len(r.layouts) > maxLayouts {
			t.Fatalf("%d layouts", len(r.layouts))
		}
	}
}
