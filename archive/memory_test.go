package archive_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// A longVolume is a volume of very many records that differ only in their time. It computes them
// when they are read.
type longVolume struct {
	fs.File
	label, record []byte // version 3
	records       int
}

func (v *longVolume) size() int64 { return int64(len(v.label)) + int64(v.records)*int64(len(v.record)) }

func (v *longVolume) ReadAt(b []byte, off int64) (n int, err error) {
	for n < len(b) && off < v.size() {
		piece := v.label
		at := off
		if i := off - int64(len(v.label)); i >= 0 {
			piece, at = v.record, i%int64(len(v.record))
			be.PutUint32(piece[4:], uint32(epoch.Unix()+i/int64(len(v.record))))
		}
		m := copy(b[n:], piece[at:])
		n, off = n+m, off+int64(m)
	}
	if n < len(b) {
		err = io.EOF
	}
	return n, err
}

func (v *longVolume) Stat() (fs.FileInfo, error) {
	info, err := v.File.Stat()
	return longInfo{info, v.size()}, err
}

type longInfo struct {
	fs.FileInfo
	size int64
}

func (i longInfo) Size() int64 { return i.size }

// A longFS has a longVolume in place of the volume a.0, which has one record.
type longFS struct {
	fstest.MapFS
	records int
}

func (l longFS) Open(name string) (fs.File, error) {
	f, err := l.MapFS.Open(name)
	if err != nil || name != "a.0" {
		return f, err
	}
	data := l.MapFS[name].Data
	return &longVolume{f, data[:808], slices.Clone(data[808:]), l.records}, nil
}

// longArchive returns an archive whose records have n values of 100 metrics.
func longArchive(n int) fstest.MapFS {
	files := fstest.MapFS{}
	m := newMaker(files, "a", 3, epoch)
	delete(files, "a.index")
	w := pdu.ResultWriter{Time: epoch}
	for i := range 100 {
		w.Begin(pdu.MakePMID(1, 0, 1+i))
		for j := range n / 100 {
			w.Uint64(pdu.InstID(j), uint64(i*j))
		}
	}
	m.result(0, &w)
	return files
}

// allocatedBy returns the number of bytes that f allocates, including freed ones.
func allocatedBy(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// readMemory is the maximum number of bytes that a cursor may allocate, for an archive of any
// length: its buffer, and as much again for growing it.
const readMemory = 4 << 20

// TestLongArchive checks that reading a long archive takes no more memory than a short one.
func TestLongArchive(t *testing.T) {
	files := longArchive(2000)
	records := 128 << 20 / (len(files["a.0"].Data) - 808)
	s, err := archive.Options{FS: longFS{files, records}}.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	value := pdu.NewSelection([]pdu.PMID{valueMetric.PMID})
	for name, read := range map[string]func(c *archive.Cursor) (int, error){
		"all": func(c *archive.Cursor) (int, error) {
			r, err := c.Result()
			if err != nil {
				return 0, err
			}
			return r.Len(), nil
		},
		"one metric": func(c *archive.Cursor) (int, error) {
			_, err := c.Select(value)
			return 100 * min(value.At(0).Len(), 1), err
		},
	} {
		n := 0
		used := allocatedBy(func() {
			c := s.Cursor()
			for c.Next() == nil {
				sets, err := read(c)
				if err != nil || sets != 100 {
					t.Fatalf("%s: record %d: %d sets, %v", name, n, sets, err)
				}
				n++
			}
		})
		if n != records || used > readMemory {
			t.Errorf("%s: %d records of %d, %d bytes allocated", name, n, records, used)
		}
	}
}

// TestLongCompressed checks that an unpacked file is not kept in memory.
func TestLongCompressed(t *testing.T) {
	files := longArchive(2000)
	long := &longVolume{label: files["a.0"].Data[:808], record: slices.Clone(files["a.0"].Data[808:]), records: 200}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(z, io.NewSectionReader(long, 0, long.size())); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	delete(files, "a.0")
	files["a.0.gz"] = &fstest.MapFile{Data: packed.Bytes()}
	n := 0
	used := allocatedBy(func() {
		c := open(t, files, "a").Cursor()
		for c.Next() == nil {
			if _, err := c.Result(); err != nil {
				t.Fatal(err)
			}
			n++
		}
	})
	if n != long.records || used > readMemory {
		t.Errorf("%d records of %d, %d bytes allocated", n, long.records, used)
	}
}
