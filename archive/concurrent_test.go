package archive_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// TestConcurrentCursors reads with several cursors of one set while the archive grows and is
// refreshed.
func TestConcurrentCursors(t *testing.T) {
	files, m := threeVolumes(3)
	delete(files, "a.index")
	m.indom(archive.TypeInDom, at(0), 7, inst("1 a")...)
	m.indom(archive.TypeInDomDelta, at(10), 7, inst("2 b")...)
	dir := onDisk(t, files, "")
	s, err := archive.Open(t.Context(), filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before := len(files["a.2"].Data)
	for i := range 50 {
		m.value(2, at(float64(50+i)), uint64(5+i))
	}
	appended := files["a.2"].Data[before:]
	f, err := os.OpenFile(filepath.Join(dir, "a.2"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			c := s.Cursor()
			for n := 0; n < 56; {
				err := c.Next()
				if errors.Is(err, pdu.ErrEOL) || errors.Is(err, pdu.ErrLogRec) { // not yet there
					continue
				}
				if _, bad := c.Result(); err != nil || bad != nil {
					t.Error(err, bad)
					return
				}
				n++
			}
			if got := s.Metadata().InDom(7).At(c.Time()); len(got) != 2 {
				t.Errorf("instances %v", got)
			}
			if _, err := s.End(); err != nil {
				t.Error(err)
			}
		})
	}
	for len(appended) > 0 {
		n := min(100, len(appended)) // not whole records
		if _, err := f.Write(appended[:n]); err != nil {
			t.Fatal(err)
		}
		appended = appended[n:]
		if err := s.Refresh(t.Context()); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}

// TestConcurrentUnpack opens several sets at the same time. They unpack a compressed volume once.
func TestConcurrentUnpack(t *testing.T) {
	files, _ := threeVolumes(3)
	delete(files, "a.index")
	dir := onDisk(t, files, ".gz")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := archive.Open(t.Context(), filepath.Join(dir, "a"))
			if err != nil {
				t.Error(err)
				return
			}
			if n := len(forward(s.Cursor())); n != 6 {
				t.Errorf("%d records, want 6", n)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := archive.SharedFiles(); n != 0 {
		t.Errorf("%d unpacked files after Close", n)
	}
}
