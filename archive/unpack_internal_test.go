package archive

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os/exec"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// TestUnpackRatio checks that a small compressed file cannot fill the temporary directory.
func TestUnpackRatio(t *testing.T) {
	for _, c := range []struct{ packed, max, want int64 }{
		{1, 0, minUnpacked},
		{366 << 10, 0, 366 << 10 * packedRatio},
		{1 << 30, 0, maxUnpacked},
		{1, maxUnpacked, maxUnpacked}, // for callers who know
	} {
		if got := (&Options{MaxUnpacked: c.max}).unpackLimit(c.packed); got != c.want {
			t.Errorf("%d bytes with MaxUnpacked %d: %d, want %d", c.packed, c.max, got, c.want)
		}
	}
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	zeros := make([]byte, 1<<20)
	for range minUnpacked>>20 + 1 {
		z.Write(zeros)
	}
	z.Close()
	name, packed := "a.gz", b.Bytes()
	if pcptest.AttackSize(0, 1) > 0 {
		name, packed = "a.xz", zerosXZ(t)
	}
	o := Options{FS: fstest.MapFS{name: {Data: packed}}, TempDir: t.TempDir()}
	pcptest.Attack(t, func() {
		src, err := o.openSource(t.Context(), name)
		if !errors.Is(err, pdu.ErrLogRec) {
			t.Errorf("%d bytes: %v, %v", len(packed), src, err)
		}
		t.Logf("refused: %d bytes of %s: %v", len(packed), name, err)
	}, nil)
}

// zerosXZ returns an xz file of 366 kB that unpacks to 2.3 GB.
func zerosXZ(t *testing.T) []byte {
	cmd := exec.Command(pcptest.Tool(t, "xz"), "-c")
	cmd.Stdin = bytes.NewReader(make([]byte, 64<<20))
	b, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Repeat(b, 2300/64)
}

// TestUnpackSpace checks that unpacking leaves part of the file system free, but at most 256 MiB.
func TestUnpackSpace(t *testing.T) {
	for size, want := range map[int64]int64{64 << 20: 2 << 20, 8 << 30: 256 << 20, 1 << 40: 256 << 20} {
		if got := spaceKept(size); got != want {
			t.Errorf("%d bytes of a file system of %d are kept, want %d", got, size, want)
		}
	}
	calls := 0
	w := &limitedWriter{w: io.Discard, left: 10 * spaceEvery, space: func() bool { calls++; return calls < 3 }}
	err := error(nil)
	written := 0
	for b := make([]byte, spaceEvery/4); err == nil; written += len(b) {
		_, err = w.Write(b)
	}
	if !w.full || w.exceeded || written > 3*spaceEvery {
		t.Errorf("%d bytes were written: %+v", written, w)
	}
	_, err = copyToTemp(t.TempDir(), 1<<30, func(w io.Writer) error {
		w.(*limitedWriter).space = func() bool { return false }
		_, err := w.Write(make([]byte, spaceEvery))
		return err
	})
	if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want ENOSPC", err)
	}
}
