package archive_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// TestBuffer checks that the files of a Writer with a Buffer are those of one without, after Flush
// and after Close.
func TestBuffer(t *testing.T) {
	dir := t.TempDir()
	var writers []*archive.Writer
	sizes := []int{0, 1, 100, 1 << 20}
	for _, size := range sizes {
		o := archive.WriterOptions{Label: archive.Label{PID: 1, Host: "web1", TimeZone: "UTC"}, VolumeRecords: 40, Buffer: size}
		w, err := o.Create(filepath.Join(dir, "a"+string(rune('0'+len(writers)))))
		if err == nil {
			err = w.WriteMetric(valueMetric)
		}
		if err != nil {
			t.Fatal(err)
		}
		writers = append(writers, w)
	}
	compare := func() {
		t.Helper()
		for _, suffix := range []string{".meta", ".index", ".0", ".1", ".2"} {
			want, _ := os.ReadFile(writers[0].Base() + suffix)
			for i, w := range writers[1:] {
				if got, _ := os.ReadFile(w.Base() + suffix); !bytes.Equal(got, want) {
					t.Errorf("with a buffer of %d %s has %d bytes, want %d", sizes[i+1], suffix, len(got), len(want))
				}
			}
		}
	}
	for n := range 100 {
		for _, w := range writers {
			b := pdu.ResultWriter{Time: at(float64(n))}
			b.Begin(valueMetric.PMID)
			b.Uint64(pdu.NoInst, uint64(n))
			err := w.WriteSets(&b)
			if n%30 == 0 {
				err = errors.Join(err, w.Flush())
			}
			if n == 95 {
				err = errors.Join(err, w.Sync())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if n%30 == 0 || n == 95 {
			compare()
		}
	}
	for _, w := range writers {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	compare()
}
