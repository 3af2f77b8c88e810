package pmdumplog

import (
	"bufio"
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/pdu"
)

// TestSeveral dumps an archive of version 3 and one of version 2 as one.
func TestSeveral(t *testing.T) {
	dir := t.TempDir()
	for i, version := range []int{3, 2} {
		base := filepath.Join(dir, string(rune('a'+i)))
		label := archive.Label{Version: version, Host: "web1", TimeZone: "UTC", PID: 7}
		im, err := logimport.New(base, archive.WriterOptions{Label: label})
		check := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		check(err)
		_, err = im.AddMetric("m.x", pdu.Desc{Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemInstant})
		check(err)
		check(im.Put("m.x", "", pdu.Uint32(uint32(i))))
		check(im.Write(time.Unix(int64(1000+100*i), 0)))
		check(im.Close())
	}
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	want := "Note: multi-archive context with 2 archives\n" +
		"--- archive " + a + " ---\n" + `Log Label (Log Format Version 3)
Performance metrics from host web1
    commencing Thu Jan  1 00:16:40.000000000 1970
    ending     Thu Jan  1 00:16:40.000000000 1970
` + "--- archive " + b + " ---\n" + `Log Label (Log Format Version 2)
Performance metrics from host web1
    commencing Thu Jan  1 00:18:20.000000 1970
    ending     Thu Jan  1 00:18:20.000000 1970

Descriptions for Metrics in the Log ...
PMID: 245.0.1 (m.x)
    Data Type: 32-bit unsigned int  InDom: PM_INDOM_NULL 0xffffffff
    Semantics: instant  Units: none

[44 bytes]
00:16:40.000000000 1 metric
    245.0.1 (m.x): value 0

[0 bytes]
00:16:40.001000000  <mark>

[40 bytes]
00:18:20.000000 1 metric
    245.0.1 (m.x): value 1
`
	for _, name := range []string{dir, a + "," + b} {
		s := &show{label: true, descs: true, values: true, sizes: true}
		c := newCommand(s)
		c.Stdout = new(bytes.Buffer)
		if _, err := c.Parse([]string{"-Z", "UTC"}); err != nil {
			t.Fatal(err)
		}
		d, err := newDumper(t.Context(), c, s, name)
		if err != nil {
			t.Fatal(err)
		}
		defer d.set.Close()
		var got bytes.Buffer
		d.out = bufio.NewWriter(&got)
		if err := d.setTimes(c); err != nil {
			t.Fatal(err)
		}
		if err := d.print(nil); err != nil {
			t.Fatal(err)
		}
		d.out.Flush()
		if diff := cmp.Diff(want, got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
