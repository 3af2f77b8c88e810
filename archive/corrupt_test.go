package archive_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// recorded loads an archive of testdata.
func recorded(t testing.TB, base string) fstest.MapFS {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join("testdata", base+".*"))
	if len(paths) == 0 {
		t.Fatalf("no archive testdata/%s", base)
	}
	files := fstest.MapFS{}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(path)] = &fstest.MapFile{Data: b}
	}
	return files
}

// A reading is the outcome of reading an archive.
type reading struct {
	open       error // of Open; then there is nothing else
	records    int   // forward
	next       error // why there were no more; nil at the end
	back       int   // backward from the end
	metrics    int
	indexUsed  int
	seekErrors int
}

// readAll reads everything in an archive in every way. It checks that errors are those that this
// package documents and that they name a file; errors about records also give the place.
func readAll(t testing.TB, files fs.FS, base string) (r reading) {
	expect := func(err error) {
		e, ok := errors.AsType[*archive.Error](err)
		if !ok || !isArchiveCode(err) || e.File == "" {
			t.Errorf("error %v (%T)", err, err)
		}
	}
	s, err := archive.Options{FS: files}.Open(t.Context(), base)
	if err != nil {
		expect(err)
		return reading{open: err}
	}
	defer s.Close()
	readMetadata(s.Metadata())
	for range s.Metadata().Metrics() {
		r.metrics++
	}
	r.indexUsed = len(s.Archives()[0].Index())
	for _, err := range s.Records() {
		if err != nil {
			expect(err)
		}
	}
	c := s.Cursor()
	r.records, r.next = readMoves(c, c.Next, expect)
	if err := c.SeekEnd(); err != nil {
		expect(err)
	} else {
		r.back, _ = readMoves(c, c.Prev, expect)
	}
	end, err := s.End()
	if err != nil {
		expect(err)
	}
	for _, at := range []time.Time{s.Start().Add(time.Second), s.Start().Add(end.Sub(s.Start()) / 2), end} {
		for _, seek := range []func(time.Time) error{c.SeekNext, c.SeekPrev} {
			if err := seek(at); err != nil {
				expect(err)
				r.seekErrors++
			}
		}
	}
	return r
}

// readMoves decodes the records that move reads. It returns their number and the error that ended
// them.
func readMoves(c *archive.Cursor, move func() error, expect func(error)) (n int, why error) {
	for {
		err := move()
		if err == pdu.ErrEOL {
			return n, nil
		}
		if err != nil {
			if e, ok := errors.AsType[*archive.Error](err); ok && e.Offset < 0 && errors.Is(err, pdu.ErrLogRec) {
				expect(fmt.Errorf("without an offset: %v", err))
			}
			expect(err)
			return n, err
		}
		n++
		r, err := c.Result()
		if err != nil {
			expect(err)
			continue
		}
		for _, set := range r.All() {
			for range set.All(pdu.Type32) {
			}
		}
	}
}

func isArchiveCode(err error) bool {
	for _, code := range []pdu.Error{pdu.ErrNoData, pdu.ErrLabel, pdu.ErrFeature, pdu.ErrLogFile, pdu.ErrLogRec, pdu.ErrRecType,
		pdu.ErrLogHost, pdu.ErrLogOverlap, pdu.ErrLogChangeType, pdu.ErrLogChangeSem, pdu.ErrLogChangeInDom, pdu.ErrLogChangeUnits} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

func readMetadata(m *archive.Metadata) {
	for range m.Names().All() {
	}
	for range m.Metrics() {
	}
	for d := range m.InDoms() {
		d.All()
		for i := range d.Len() {
			d.State(i)
		}
	}
	for l := range m.AllLabels() {
		for i := range l.Len() {
			for _, s := range l.Record(i).Sets {
				for range s.All() {
				}
			}
		}
	}
	for range m.Texts() {
	}
}

// TestTruncated truncates archives at any place. The records before that are read.
func TestTruncated(t *testing.T) {
	for _, base := range []string{"v2", "v3"} {
		files := recorded(t, base)
		last := base + ".2"
		whole := files[last].Data
		var ends []int // of the records of the last volume
		start := map[string]int{"v2": 132, "v3": 808}[base]
		for end := start; end < len(whole); {
			end += int(be.Uint32(whole[end:]))
			ends = append(ends, end)
		}
		for cut := range whole {
			files[last].Data = whole[:cut:cut]
			want := 14 - len(ends)
			for _, end := range ends {
				if end <= cut {
					want++
				}
			}
			if got := readAll(t, files, base).records; got != want && cut >= start {
				t.Errorf("%s cut at %d: %d records, want %d", last, cut, got, want)
			}
		}
		files[last].Data = whole
		for _, name := range []string{base + ".meta", base + ".index", base + ".0"} {
			whole := files[name].Data
			for cut := 0; cut < len(whole); cut += 7 {
				files[name].Data = whole[:cut:cut]
				readAll(t, files, base)
			}
			files[name].Data = whole
		}
	}
}

// TestFlipped flips random bits. Reading still ends, with errors that say what is wrong.
func TestFlipped(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	total := 0
	r := rand.New(rand.NewPCG(3, 4))
	for _, base := range []string{"v2", "v3"} {
		files := recorded(t, base)
		for name := range files {
			whole := files[name].Data
			for range 200 {
				b := slices.Clone(whole)
				for range 1 + r.IntN(3) {
					b[r.IntN(len(b))] ^= 1 << r.IntN(8)
				}
				files[name].Data = b
				readAll(t, files, base)
				total++
			}
			files[name].Data = whole
		}
	}
	runtime.ReadMemStats(&after)
	// Memory is needed for a window and the small archive, not for the length that a record claims.
	if per := (after.TotalAlloc - before.TotalAlloc) / uint64(total); per > 8<<20 {
		t.Errorf("%d bytes allocated for each of %d archives", per, total)
	}
}

// TestRecorded reads complete archives that pmlogger has recorded.
func TestRecorded(t *testing.T) {
	for _, base := range []string{"v2", "v3"} {
		files := recorded(t, base)
		if n := readAll(t, files, base).records; n != 14 {
			t.Errorf("%s: %d records, want 14", base, n)
		}
		s := open(t, files, base)
		kinds := map[archive.RecordKind]int{}
		for r, err := range s.Records() {
			if err != nil {
				t.Fatal(err)
			}
			kinds[r.Kind]++
			if err := decodeRecord(r); err != nil {
				t.Error(err)
			}
		}
		diff(t, base, kinds, map[archive.RecordKind]int{
			archive.KindLabel: 5, archive.KindResult: 14, archive.KindDesc: 19, archive.KindInDom: 3,
			archive.KindLabels: 7, archive.KindIndex: 6,
		})
	}
}

// decodeRecord decodes a record by its kind.
func decodeRecord(r *archive.Record) (err error) {
	switch r.Kind {
	case archive.KindLabel:
		_, err = r.Label()
	case archive.KindDesc:
		_, err = r.Metric()
	case archive.KindInDom, archive.KindInDomDelta:
		_, err = r.InDom()
	case archive.KindLabels:
		_, err = r.Labels()
	case archive.KindText:
		_, err = r.Text()
	case archive.KindIndex:
		_, err = r.Entry()
	default:
		err = r.Result(new(pdu.Result))
	}
	return err
}
