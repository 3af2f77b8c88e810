package archive_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// The damaged archives of PCP's test-suite fail as they do in the C library: when they are
// opened, when the records are read, or not at all.
func TestInteropBadArchives(t *testing.T) {
	dir := filepath.Join(filepath.Dir(suite), "badarchives")
	pcptest.Need(t, filepath.Join(dir, "badlen-0.meta"))
	for _, test := range []struct {
		names      string
		open, read error
		records    int
	}{
		{"541380 951127.23.01 960624.08.17 ace babylon.percpu babylon.pmview bigace bozo.client bug err_v1", pdu.ErrLabel, nil, 0},
		{"badlabel-1 badlabel-2 badlen-10 badlen-5 badlen-6 badlen-7 badlen-8", pdu.ErrLabel, nil, 0},
		{"badlen-4 empty", pdu.ErrNoData, nil, 0},
		{"badlen-9 badmeta-3 badmeta-4 badmeta-5 corrupted_labelset", pdu.ErrLogRec, nil, 0},
		{"badlabel-0 badlen-0 badlog-2 badlog-3 badlog-4 badmeta-1 badmeta-2 badti-1 badti-2 badti-3 badti-4", nil, pdu.ErrEOL, 9},
		{"badmeta-6 badmeta-7 bozo-vm-disk", nil, pdu.ErrEOL, 22},
		{"badlen-1 badlen-2 badlen-3", nil, pdu.ErrLogRec, 0},
		{"badlog-1", nil, pdu.ErrLogRec, 2},
		{"20180608.04.23-01 logsummary-bug", nil, pdu.ErrEOL, 2},
		{"badlen-11", nil, pdu.ErrEOL, 0},
		{"archive-20150417.131733", nil, pdu.ErrLogRec, 50},
		{"ok-truncbin", nil, pdu.ErrLogRec, 416},
	} {
		for name := range strings.FieldsSeq(test.names) {
			s, err := archive.Open(t.Context(), filepath.Join(dir, name))
			if !errors.Is(err, test.open) {
				t.Errorf("%s: Open: %v, want %v", name, err, test.open)
			}
			if err != nil {
				continue
			}
			c, n := s.Cursor(), 0
			for err = c.Next(); err == nil; err = c.Next() {
				n++
			}
			if !errors.Is(err, test.read) || n != test.records {
				t.Errorf("%s: %d records, %v, want %d, %v", name, n, err, test.records, test.read)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// The archives of the test-suite, cut at the ends of records and elsewhere and with flipped
// bits, are read without a panic and with errors that this package promises.
func TestSuiteDamaged(t *testing.T) {
	limit, flips := int64(3_000), 5
	if *all {
		limit, flips = 1_000_000, 200
	}
	for _, base := range suiteArchives(t, limit) {
		t.Run(strings.TrimPrefix(base, suite+"/"), func(t *testing.T) {
			t.Parallel()
			files, ends := loadSuite(t, base)
			if files == nil {
				t.Skip("compressed, or with an empty file")
			}
			for file := range files {
				damage(t, files, base, file, ends[file], flips)
			}
		})
	}
}

// damage reads an archive again and again with one file cut or changed.
func damage(t *testing.T, files fstest.MapFS, base, file string, ends []int, flips int) {
	name, whole := filepath.Base(base), files[file].Data
	r := rand.New(rand.NewPCG(uint64(len(whole)), 6))
	for range flips {
		ends = append(ends, r.IntN(len(whole)))
	}
	for _, cut := range ends {
		files[file].Data = whole[:cut:cut]
		readAll(t, files, name)
	}
	for range flips {
		b := slices.Clone(whole)
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		files[file].Data = b
		readAll(t, files, name)
	}
	files[file].Data = whole
	if t.Failed() {
		t.Fatal(file)
	}
}

// loadSuite loads an archive and where the records of its files end; nil if it is compressed.
func loadSuite(t *testing.T, base string) (fstest.MapFS, map[string][]int) {
	s, err := archive.Open(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	files, ends := fstest.MapFS{}, map[string][]int{}
	paths := volumePaths(s.Archives()[0].Files())
	for _, path := range append(paths, s.Archives()[0].Files().Meta, s.Archives()[0].Files().Index) {
		if path == "" {
			continue
		}
		f, err := archive.Options{}.OpenFile(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if size, err := f.Size(); err != nil || size != int64(len(b)) || len(b) == 0 {
			return nil, nil
		}
		name := filepath.Base(path)
		files[name] = &fstest.MapFile{Data: b}
		for r, err := range f.Records() {
			if err != nil {
				break // some end with a part of a record
			}
			ends[name] = append(ends[name], int(r.Offset)+len(r.Raw))
		}
	}
	return files, ends
}
