package archive_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// TestInteropBadArchives checks that the damaged archives of PCP's test suite fail as in the C
// library: when they are opened, when the records are read, or not at all.
func TestInteropBadArchives(t *testing.T) {
	dir := filepath.Join(filepath.Dir(suite), "badarchives")
	pcptest.Need(t, filepath.Join(dir, "badlen-0.meta"))
	found, err := filepath.Glob(filepath.Join(dir, "*.meta"))
	if err != nil {
		t.Fatal(err)
	}
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
		{"archive-20141125-000009", nil, pdu.ErrEOL, 1491},
		{"old611", nil, pdu.ErrEOL, 42},
	} {
		for name := range strings.FieldsSeq(test.names) {
			found = slices.DeleteFunc(found, func(path string) bool { return filepath.Base(path) == name+".meta" })
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
	if len(found) > 0 {
		t.Errorf("not read: %v", found)
	}
}
