package archive_test

import (
	"errors"
	"testing"
	"testing/fstest"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// fuzzFile fuzzes one file of an archive. For any content, reading ends with errors that this
// package documents.
func fuzzFile(f *testing.F, suffix string, check func(t *testing.T, files fstest.MapFS, r reading)) {
	for _, base := range []string{"v2", "v3"} {
		f.Add(base == "v3", recorded(f, base)[base+suffix].Data)
	}
	archives := map[bool]fstest.MapFS{false: recorded(f, "v2"), true: recorded(f, "v3")}
	f.Fuzz(func(t *testing.T, v3 bool, b []byte) {
		base := map[bool]string{false: "v2", true: "v3"}[v3]
		files := fstest.MapFS{}
		for name, file := range archives[v3] {
			files[name] = file
		}
		files[base+suffix] = &fstest.MapFile{Data: b}
		check(t, files, readAll(t, files, base))
	})
}

// FuzzVolume fuzzes the frames and value sets of data records.
func FuzzVolume(f *testing.F) {
	fuzzFile(f, ".0", func(*testing.T, fstest.MapFS, reading) {})
}

func FuzzMetadata(f *testing.F) {
	fuzzFile(f, ".meta", func(t *testing.T, _ fstest.MapFS, r reading) {
		if r.open == nil && r.records != 14 {
			t.Errorf("with other metadata, there are %d data records", r.records)
		}
	})
}

// FuzzIndex checks that seeks find the same with any index that can be opened as without one.
func FuzzIndex(f *testing.F) {
	fuzzFile(f, ".index", func(t *testing.T, files fstest.MapFS, r reading) {
		base := "v2"
		if files["v3.0"] != nil {
			base = "v3"
		}
		s, err := archive.Options{FS: files}.Open(t.Context(), base)
		if err != nil {
			return
		}
		defer s.Close()
		if r.records != 14 {
			t.Errorf("with another index, there are %d data records", r.records)
		}
		delete(files, base+".index")
		without := open(t, files, base).Cursor()
		c := s.Cursor()
		for without.Next() == nil {
			when := without.Time()
			if err := c.SeekNext(when); err != nil {
				t.Fatal(err)
			}
			if err := c.Next(); err != nil || !c.Time().Equal(when) {
				t.Errorf("SeekNext(%v) found %v, %v", when, c.Time(), err)
			}
			if err := c.SeekPrev(when); err != nil {
				t.Fatal(err)
			}
			if err := c.Prev(); err != nil || !c.Time().Equal(when) {
				t.Errorf("SeekPrev(%v) found %v, %v", when, c.Time(), err)
			}
		}
	})
}

// FuzzLabel checks that a label that can be read is the same after it is written.
func FuzzLabel(f *testing.F) {
	f.Add(recorded(f, "v2")["v2.0"].Data[:132])
	f.Add(recorded(f, "v3")["v3.0"].Data[:808])
	f.Fuzz(func(t *testing.T, b []byte) {
		read := func(b []byte) (archive.Label, error) {
			file, err := archive.Options{AnyFeature: true, FS: fstest.MapFS{"a.0": {Data: b}}}.OpenFile(t.Context(), "a.0")
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			return file.Label()
		}
		l, err := read(b)
		if err != nil {
			if !errors.Is(err, pdu.ErrLabel) && !errors.Is(err, pdu.ErrNoData) {
				t.Errorf("error %v", err)
			}
			diff(t, "label beside an error", l, archive.Label{})
			return
		}
		out, err := l.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := read(out)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "written and read", again, l)
	})
}
