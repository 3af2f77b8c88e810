package archivesource

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pdu"
)

// However often the metadata of an archive grows, sources on it keep one copy in memory, also those
// without a request since. All see what one has read.
func TestSharedMetadata(t *testing.T) {
	base := filepath.Join(t.TempDir(), "growing")
	w, err := archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}}.Create(base)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	grow := func(n int) {
		t.Helper()
		m := archive.Metric{Names: []string{fmt.Sprint("m", n)}, Desc: pdu.Desc{PMID: pdu.PMID(n), Type: pdu.Type32, InDom: pdu.NoInDom}}
		if err := w.WriteMetric(m); err != nil {
			t.Fatal(err)
		}
		if err := w.WriteMark(time.Unix(1e9+int64(n), 0)); err != nil {
			t.Fatal(err)
		}
	}
	grow(1)
	set, err := archive.Open(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	begin := func(s *Source) *Source {
		s.SetTurn(ctxwait.NewMutex())
		t.Cleanup(func() { s.Close() })
		return s
	}
	all := []*Source{begin(New(set, Options{}))}
	var snapshots []weak.Pointer[archive.Metadata]
	for n := 2; n < 10; n++ {
		snapshots = append(snapshots, weak.Make(set.Metadata()))
		grow(n)
		d, err := all[0].Dup(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := begin(d.(*Source))
		s.turn.TryLock() // in a request
		if err := s.Reconnect(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.turn.Unlock()
		all[0].turn.TryLock()
		all[0].Follow()
		all[0].turn.Unlock()
		all = append(all, s)
	}
	runtime.GC()
	for i, p := range snapshots {
		if p.Value() != nil {
			t.Errorf("snapshot %d of the metadata is still in memory", i)
		}
	}
	for i, s := range all {
		before := s.Epoch()
		s.Follow()
		if ids, _, err := s.Lookup(t.Context(), []string{"m9"}); err != nil || ids[0] != 9 {
			t.Errorf("source %d does not see the metric that was added last: %v, %v", i, ids, err)
		}
		if after := s.Epoch(); i > 0 && i < len(all)-1 && (after.Names == before.Names || after.Connection != before.Connection) {
			t.Errorf("source %d: epoch was %v, is %v", i, before, after)
		}
	}
}
