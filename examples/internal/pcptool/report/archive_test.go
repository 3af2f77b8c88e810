package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// TestArchive records an archive from an archive, and reads it: the values are unchanged, even if
// the report converts units.
func TestArchive(t *testing.T) {
	t.Setenv("PCP_ARCHIVE_VERSION", "3")
	base, recorded := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	writeSource(t, base)
	var said strings.Builder
	report := func(base string, o Options, output func(*Report) (Printer, error)) *Report {
		t.Helper()
		pc, err := pmapi.Open(t.Context(), base)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { pc.Close() })
		o.Source, o.Samples = base, 3
		r, err := New(t.Context(), pc, o, []Spec{{Name: "disk.bytes", Unit: "MB", Width: Unset, Precision: Unset}}, Times{Location: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		p, err := output(r)
		if err == nil {
			err = r.Run(t.Context(), p)
		}
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	o := NewOptions()
	o.Output, o.IncludeTexts = OutputArchive, true
	report(base, o, func(r *Report) (Printer, error) { return NewArchive(&said, r, recorded) })
	want := fmt.Sprintf("Recording 1 metrics to %s:\n3 samples(s) with 1.0 sec interval ~ 2 sec duration.\n", recorded)
	if diff := cmp.Diff(want, said.String()); diff != "" {
		t.Errorf("what it says (-want +got):\n%s", diff)
	}
	o = NewOptions()
	o.Output, o.Raw, o.SpaceScale, o.Delimiter, o.Header = OutputCSV, true, "", ",", false
	var rows strings.Builder
	r := report(recorded, o, func(r *Report) (Printer, error) { return NewPrinter(&rows, r), nil })
	if got := strings.Split(strings.TrimSpace(rows.String()), "\n"); len(got) != 3 || !slices.ContainsFunc(got, func(s string) bool { return strings.HasSuffix(s, "2.000,20.000") }) {
		t.Errorf("rows %q", got)
	}
	text, err := r.pc.Text(t.Context(), pdu.MakePMID(60, 1, 2), pdu.TextOneLine)
	if err != nil || text != "bytes" || r.header.Host != "web1" {
		t.Errorf("text %q, host %q, error %v", text, r.header.Host, err)
	}
}

// writeSource writes an archive of a counter of two disks, in KB.
func writeSource(t *testing.T, base string) {
	t.Helper()
	do := func(err error) {
		if t.Helper(); err != nil {
			t.Fatal(err)
		}
	}
	im, err := logimport.New(base, archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}})
	do(err)
	disks, id := pdu.MakeInDom(60, 1), pdu.MakePMID(60, 1, 2)
	_, err = im.AddMetric("disk.bytes", pdu.Desc{PMID: id, Type: pdu.TypeU64, InDom: disks, Sem: pdu.SemCounter,
		Units: pdu.SpaceKByte})
	do(err)
	do(im.AddInstance(disks, "sda", 1))
	do(im.AddInstance(disks, "sdb", 2))
	do(im.PutHelp(pdu.TextOneLine|pdu.TextPMID, uint32(id), "bytes"))
	for i := range uint64(4) {
		do(im.Put("disk.bytes", "sda", pdu.AtomOf(1024*i)))
		do(im.Put("disk.bytes", "sdb", pdu.AtomOf(10240*i)))
		do(im.Write(time.Unix(1e9+int64(i), 0)))
	}
	do(im.Close())
}
