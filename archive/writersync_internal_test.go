package archive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// TestWriterSyncsEndedVolumes checks that Sync includes volumes that have ended and the names of
// the files.
func TestWriterSyncsEndedVolumes(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a")
	w, err := WriterOptions{VolumeRecords: 1}.Create(base)
	if err != nil {
		t.Fatal(err)
	}
	id := pdu.MakePMID(60, 0, 1)
	if err := w.WriteMetric(Metric{pdu.Desc{PMID: id, Type: pdu.TypeU32, InDom: pdu.NoInDom}, []string{"one"}}); err != nil {
		t.Fatal(err)
	}
	write := func(from, n int) {
		t.Helper()
		for i := from; i < from+n; i++ {
			b := pdu.ResultWriter{Time: time.Unix(int64(i), 0)}
			b.Begin(id)
			b.Atom(pdu.NoInst, pdu.Uint32(uint32(i)))
			if err := w.WriteSets(&b); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(1, 3)
	if len(w.unsynced) != 2 || !w.newNames {
		t.Errorf("to be written: %v, names %v", w.unsynced, w.newNames)
	}
	if err := os.Remove(base + ".0"); err != nil {
		t.Fatal(err)
	}
	if err := w.Sync(); err != nil || len(w.unsynced) != 0 || w.newNames {
		t.Errorf("still to be written: %v, names %v; %v", w.unsynced, w.newNames, err)
	}
	write(4, 1)
	if err := os.Mkdir(base+".9", 0o755); err != nil {
		t.Fatal(err)
	}
	w.unsynced = append(w.unsynced, base+".9") // what cannot be written
	if err := w.Sync(); err == nil || len(w.unsynced) != 1 || !w.newNames {
		t.Errorf("a volume that cannot be written: %v, left %v, names %v", err, w.unsynced, w.newNames)
	}
	w.unsynced = nil
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Sync(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
