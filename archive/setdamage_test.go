package archive_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// threeArchives makes archives of two records each in a directory, from 0, 60 and 120 seconds on.
func threeArchives() fstest.MapFS {
	fs := fstest.MapFS{}
	for i, base := range []string{"dir/a", "dir/b", "dir/c"} {
		m := newMaker(fs, base, 3, at(float64(60*i)))
		for j := range 2 {
			m.value(0, at(float64(60*i+10*j)), uint64(6*i+j))
		}
		delete(fs, base+".index")
	}
	return fs
}

// TestSetDamaged damages one archive of three. The others are read in both directions, and
// Options.Damaged is called once, with the file.
func TestSetDamaged(t *testing.T) {
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }
	word := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { be.PutUint32(b[at:], 0x7fffffff); return b }
	}
	const (
		whole     = "0=0, 10=1, 10.001 mark, 60=6, 70=7, 70.001 mark, 120=12, 130=13"
		wholeBack = "130=13, 120=12, 119.999 mark, 70=7, 60=6, 59.999 mark, 10=1, 0=0"
		rest      = "0=0, 10=1, 10.001 mark, 120=12, 130=13"
		restBack  = "130=13, 120=12, 119.999 mark, 10=1, 0=0"
		one       = "0=0, 10=1, 10.001 mark, 60=6, 60.001 mark, 120=12, 130=13"
		oneBack   = "130=13, 120=12, 119.999 mark, 60=6, 59.999 mark, 10=1, 0=0"
	)
	for _, test := range []struct {
		name, file    string
		damage        func([]byte) []byte
		forward, back string
	}{
		{"empty volume", "dir/b.0", cut(0), rest, restBack},
		{"empty metadata", "dir/b.meta", cut(0), rest, restBack},
		{"label only", "dir/b.0", cut(808), rest, restBack},
		{"malformed label", "dir/b.0", word(4), rest, restBack},
		{"malformed metadata", "dir/b.meta", word(808), rest, restBack},
		{"empty index", "dir/b.index", nil, whole, wholeBack},
		{"stray file", "dir/x.meta", nil, whole, wholeBack},
		{"first record", "dir/b.0", word(808), "0=0, 10=1, 10.001 mark, 70.001 mark, 120=12, 130=13",
			"130=13, 120=12, 119.999 mark, 70=7, 59.999 mark, 10=1, 0=0"},
		{"second record", "dir/b.0", word(808 + 56), one, oneBack},
		{"number of sets", "dir/b.0", word(808 + 16), "0=0, 10=1, 10.001 mark, 60 empty, 70=7, 70.001 mark, 120=12, 130=13",
			"130=13, 120=12, 119.999 mark, 70=7, 60 empty, 59.999 mark, 10=1, 0=0"},
		{"cut record", "dir/b.0", cut(808 + 56 + 30), one, oneBack},
		{"end of the first", "dir/a.0", word(808 + 56), "0=0, 0.001 mark, 60=6, 70=7, 70.001 mark, 120=12, 130=13",
			"130=13, 120=12, 119.999 mark, 70=7, 60=6, 59.999 mark, 0=0"},
		{"no record of the last", "dir/c.0", word(808), "0=0, 10=1, 10.001 mark, 60=6, 70=7, 70.001 mark", "130=13, 119.999 mark, 70=7, 60=6, 59.999 mark, 10=1, 0=0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			fs := threeArchives()
			if f := fs[test.file]; f != nil {
				f.Data = test.damage(f.Data)
			} else {
				fs[test.file] = &fstest.MapFile{}
			}
			var damaged []string
			o := archive.Options{FS: fs, Damaged: func(err error) error {
				e, ok := errors.AsType[*archive.Error](err)
				if !ok {
					t.Fatalf("damage is %T %v, want an *archive.Error", err, err)
				}
				damaged = append(damaged, e.File)
				return nil
			}}
			s, err := o.Open(t.Context(), "dir")
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			c := s.Cursor()
			diff(t, "forward", strings.Join(forward(c), ", "), test.forward)
			diff(t, "back", strings.Join(back(t, c), ", "), test.back)
			diff(t, "damaged", damaged, []string{strings.Replace(test.file, "x.meta", "x", 1)})
			for _, seek := range []func(time.Time) error{c.SeekNext, c.SeekPrev} {
				for seconds := range 140 {
					if err := seek(at(float64(seconds))); err != nil {
						t.Fatalf("seek to %d: %v", seconds, err)
					}
				}
			}
		})
	}
}

// TestSetDamagedRefused has Options.Damaged return an error. Open and the cursor return the same
// error.
func TestSetDamagedRefused(t *testing.T) {
	refusal := errors.New("refused")
	fs := threeArchives()
	o := archive.Options{FS: fs, Damaged: func(err error) error { return fmt.Errorf("%w: %w", refusal, err) }}
	be.PutUint32(fs["dir/b.0"].Data[808:], 0x7fffffff)
	s, err := o.Open(t.Context(), "dir")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := s.Cursor()
	for err == nil {
		err = c.Next()
	}
	if !errors.Is(err, refusal) || !errors.Is(err, pdu.ErrLogRec) || !strings.Contains(err.Error(), "dir/b.0") {
		t.Errorf("Next: %v, want the refusal of dir/b.0", err)
	}
	fs["dir/b.0"].Data = nil
	if _, err := o.Open(t.Context(), "dir"); !errors.Is(err, refusal) || !strings.Contains(err.Error(), "dir/b.0") {
		t.Errorf("Open: %v, want the refusal of dir/b.0", err)
	}
}

// TestSetAllDamaged opens a set of damaged archives. The error is that of the first one.
func TestSetAllDamaged(t *testing.T) {
	fs := threeArchives()
	for _, base := range []string{"a", "b", "c"} {
		fs["dir/"+base+".0"].Data = nil
	}
	_, err := archive.Options{FS: fs, Damaged: func(error) error { return nil }}.Open(t.Context(), "dir")
	if e, ok := errors.AsType[*archive.Error](err); !ok || e.File != "dir/a.0" || !errors.Is(err, pdu.ErrNoData) {
		t.Errorf("error %v, want that of dir/a.0", err)
	}
}

// TestSetChangedMetric checks that the error names the archive and the metric whose descriptor
// changed.
func TestSetChangedMetric(t *testing.T) {
	fs := threeArchives()
	m := maker{fs: fs, base: "dir/b", label: archive.Label{Version: 3}}
	changed := valueMetric
	changed.Desc.Type = pdu.TypeU32
	delete(fs, "dir/b.meta")
	m.label = archive.Label{Version: 3, PID: 42, Start: at(60), Host: "web1", TimeZone: "UTC"}
	m.volume(archive.VolumeMeta)
	m.desc(changed)
	_, err := archive.Options{FS: fs}.Open(t.Context(), "dir")
	const want = "archive: dir/b: metric a.value (1.0.1): type was U64, is U32: The type of a metric has changed in an archive"
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
}
