package mmv

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// TestShrunk: a file that is cut after it was opened gives an error for the values that are gone,
// at any length.
func TestShrunk(t *testing.T) {
	image := manyValues(3, 1000)
	path := filepath.Join(t.TempDir(), "file")
	for n := len(image) - 1; n > 0; n -= 1777 {
		if err := os.WriteFile(path, image, 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, int64(n)); err != nil {
			t.Fatal(err)
		}
		if changed, err := f.Changed(); err != nil || changed != (n < headerSections) {
			t.Errorf("cut to %d bytes: changed %v, %v", n, changed, err)
		}
		var r Reader
		r.Reset(f, time.Time{})
		m := &f.Metrics[2]
		last := f.values + int64(m.records[999]+1)*valueLen
		_, err = r.Value(m, 999)
		if int64(n) < last && !errors.Is(err, ErrChanged) || err != nil && !errors.Is(err, ErrChanged) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
		if err != nil {
			if _, again := r.Value(&f.Metrics[0], 0); again != err {
				t.Errorf("cut to %d bytes: then %v, want %v", n, again, err)
			}
		}
		f.Close()
	}
}

// TestShorterThanItWas: a file that ends before its size, as when it is cut while it is opened, is
// in flux.
func TestShorterThanItWas(t *testing.T) {
	image := recorded(t, "v1.mmv")
	for _, n := range []int{0, 30, 39, 40, 100, len(image) - 1} {
		if _, err := Read(longer{bytes.NewReader(image[:n]), int64(len(image))}); !errors.Is(err, ErrInFlux) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// longer is a source with fewer bytes than it says.
type longer struct {
	*bytes.Reader
	size int64
}

func (s longer) Size() int64 { return s.size }

// TestChangedInPlace: the reader notices a new generation before it returns any of its values.
func TestChangedInPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, recorded(t, "v3.mmv"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var word [8]byte
	if _, err := h.WriteAt(word[:], headerGeneration2); err != nil {
		t.Fatal(err)
	}
	if changed, err := f.Changed(); !changed || err != nil {
		t.Errorf("Changed: %v, %v", changed, err)
	}
	if _, err := f.Snapshot(time.Now()); !errors.Is(err, ErrChanged) {
		t.Errorf("Snapshot: %v", err)
	}
	if _, err := Open(path); !errors.Is(err, ErrInFlux) {
		t.Errorf("Open: %v", err)
	}
	native.PutUint64(word[:], f.Generation)
	if _, err := h.WriteAt(word[:], headerGeneration2); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Snapshot(time.Now()); err != nil {
		t.Errorf("Snapshot of the old generation: %v", err)
	}
}

// TestClosed: values of a closed file are errors.
func TestClosed(t *testing.T) {
	f := openImage(t, manyValues(1, 1))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Snapshot(time.Now()); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Snapshot: %v", err)
	}
	if changed, err := f.Changed(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Changed: %v, %v", changed, err)
	}
}

// TestWild: a source whose bytes change at every read, with the generation that it had, does no
// harm.
func TestWild(t *testing.T) {
	for seed := range uint64(300) {
		w := &wild{b: recorded(t, recordings[seed%3]), r: rand.New(rand.NewPCG(seed, 1))}
		f, err := Read(w)
		if err != nil {
			continue
		}
		for range 3 {
			if _, err := f.Snapshot(time.Now()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// wild is a source that changes.
type wild struct {
	b []byte
	r *rand.Rand
}

func (w *wild) Size() int64 { return int64(len(w.b)) }

func (w *wild) ReadAt(p []byte, off int64) (int, error) {
	g := bytes.Clone(w.b[:headerSections])
	for range w.r.IntN(4) {
		w.b[w.r.IntN(len(w.b))] ^= byte(1 << w.r.IntN(8))
	}
	copy(w.b, g)
	return bytes.NewReader(w.b).ReadAt(p, off)
}

// TestReplaced: while a file is rewritten in place, cut, removed and replaced, all that is read
// belongs together.
func TestReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	images := [][]byte{labelled(manyValues(2, 700), 1), labelled(manyValues(300, 3), 2), labelled(manyValues(1, 5000), 3)}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(done)
		r := rand.New(rand.NewPCG(5, 6))
		for i := range 150 {
			if err := replaceSomehow(path, images, i, r); err != nil {
				t.Error(err)
				return
			}
		}
	})
	var snapshots, failures [2]int
	for reader := range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := readReplaced(path); err == nil {
					snapshots[reader]++
				} else if failures[reader]++; !expected(err) {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	t.Logf("snapshots %v, failures %v", snapshots, failures)
	if snapshots[0]+snapshots[1] == 0 {
		t.Error("no snapshot")
	}
}

// labelled sets the generation of an image, and adds a multiple of 2^32 to its values.
func labelled(b []byte, generation uint64) []byte {
	native.PutUint64(b[headerGeneration1:], generation)
	native.PutUint64(b[headerGeneration2:], generation)
	f, err := Read(bytes.NewReader(b))
	if err != nil {
		panic(err)
	}
	for i := range f.Metrics {
		for _, n := range f.Metrics[i].records {
			off := f.values + int64(n)*valueLen
			native.PutUint64(b[off:], native.Uint64(b[off:])|generation<<32)
		}
	}
	return b
}

// replaceSomehow replaces the contents of the file in one of the ways that writers use.
func replaceSomehow(path string, images [][]byte, i int, r *rand.Rand) error {
	image := bytes.Clone(images[r.IntN(len(images))])
	kind := native.Uint64(image[headerGeneration1:])
	generation := kind | uint64(i+1)<<8
	native.PutUint64(image[headerGeneration1:], generation)
	native.PutUint64(image[headerGeneration2:], generation)
	switch r.IntN(4) {
	case 0: // as a careful writer
		if err := os.WriteFile(path+".new", image, 0o644); err != nil {
			return err
		}
		return os.Rename(path+".new", path)
	case 1: // in place
		return rewrite(path, image, generation)
	case 2: // as the C library, complete only at the end
		os.Remove(path)
		return rewrite(path, image, generation)
	}
	if err := os.Truncate(path, int64(r.IntN(5000))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// rewrite writes a file in place. It is in flux meanwhile.
func rewrite(path string, image []byte, generation uint64) error {
	h, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer h.Close()
	var word [8]byte
	_, err = h.WriteAt(word[:], headerGeneration2)
	native.PutUint64(image[headerGeneration2:], 0)
	for off := 0; off < len(image) && err == nil; off += 10_000 {
		_, err = h.WriteAt(image[off:min(off+10_000, len(image))], int64(off))
	}
	if err != nil {
		return err
	}
	native.PutUint64(word[:], generation)
	_, err = h.WriteAt(word[:], headerGeneration2)
	return err
}

// readReplaced opens the file, reads its values and checks that all of them belong to its
// generation.
func readReplaced(path string) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	s, err := f.Snapshot(time.Now())
	if err != nil {
		return err
	}
	kind := f.Generation & 0xff
	if f.Flaws == 0 {
		if n := map[uint64]int{1: 2, 2: 300, 3: 1}[kind]; len(s.Metrics) != n {
			return fmt.Errorf("generation %x has %d metrics, want %d", f.Generation, len(s.Metrics), n)
		}
	}
	for _, m := range s.Metrics {
		for _, v := range m.Values {
			if n, err := pdu.As[uint64](v.Value); err != nil || n>>32 != kind {
				return fmt.Errorf("generation %x has value %x, %v", f.Generation, n, err)
			}
		}
	}
	return nil
}

// expected reports whether an error is one that a file gives while it changes.
func expected(err error) bool {
	_, format := errors.AsType[*formatError](err)
	return format || errors.Is(err, ErrChanged) || errors.Is(err, fs.ErrNotExist)
}
