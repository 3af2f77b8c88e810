package archive_test

import (
	"errors"
	"io/fs"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// An openFS counts the files that are open.
type openFS struct {
	fstest.MapFS
	open, most atomic.Int64
}

func (c *openFS) Open(name string) (fs.File, error) {
	f, err := c.MapFS.Open(name)
	if err != nil {
		return nil, err
	}
	at, ok := f.(readerAtFile)
	if !ok {
		return f, nil
	}
	c.most.Store(max(c.most.Load(), c.open.Add(1)))
	return &countedFile{readerAtFile: at, of: c}, nil
}

type readerAtFile interface {
	fs.File
	ReadAt([]byte, int64) (int, error)
}

type countedFile struct {
	readerAtFile
	of *openFS
}

func (f *countedFile) Close() error {
	f.of.open.Add(-1)
	return f.readerAtFile.Close()
}

// TestManyVolumes reads an archive with more volumes than a set keeps open, forward and backward.
func TestManyVolumes(t *testing.T) {
	volumes := pcptest.AttackSize(3*archive.MaxOpenFiles, 20_000)
	files := &openFS{MapFS: fstest.MapFS{}}
	m := newMaker(files.MapFS, "a", 3, epoch)
	for n := range volumes {
		if n > 0 {
			m.volume(n)
		}
		m.value(n, at(float64(n)), uint64(n))
	}
	delete(files.MapFS, "a.index") // it has no entries
	pcptest.Attack(t, func() { readVolumes(t, files, volumes) }, nil)
	t.Logf("of %d volumes %d were open at once", volumes, files.most.Load())
	if n := files.most.Load(); n > archive.MaxOpenFiles+1 {
		t.Errorf("%d files were open at once, want at most %d", n, archive.MaxOpenFiles)
	}
	if n := files.open.Load(); n != 0 {
		t.Errorf("%d files are open after Close", n)
	}
}

// readVolumes reads an archive with a record in each of its volumes, forward and backward.
func readVolumes(t *testing.T, files fs.FS, volumes int) {
	t.Helper()
	set, err := archive.Options{FS: files}.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	c := set.Cursor()
	count := func(move func() error) (n int) {
		for err := move(); ; err = move() {
			if errors.Is(err, pdu.ErrEOL) {
				return n
			}
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	if n := count(c.Next); n != volumes {
		t.Errorf("%d records forward, want %d", n, volumes)
	}
	if n := count(c.Prev); n != volumes {
		t.Errorf("%d records backward, want %d", n, volumes)
	}
	if err := c.SeekNext(epoch.Add(time.Duration(volumes/2) * time.Second)); err != nil {
		t.Error(err)
	}
	if err := set.Close(); err != nil {
		t.Error(err)
	}
}
