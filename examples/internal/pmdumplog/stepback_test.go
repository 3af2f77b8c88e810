package pmdumplog

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/pdu"
)

// TestEndStepsBack dumps an archive whose last record is earlier than others before it. As with
// PCP's tool, all of these are printed.
func TestEndStepsBack(t *testing.T) {
	dir := t.TempDir()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name string, values ...uint32) []byte {
		im, err := logimport.New(filepath.Join(dir, name), archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}})
		check(err)
		_, err = im.AddMetric("m.x", pdu.Desc{Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemInstant})
		check(err)
		for _, v := range values {
			check(im.Put("m.x", "", pdu.Uint32(v)))
			check(im.Write(time.Unix(int64(v), 0)))
		}
		check(im.Close())
		b, err := os.ReadFile(filepath.Join(dir, name+".0"))
		check(err)
		return b
	}
	a, b := write("a", 1000, 1010, 1020), write("b", 1005, 1015)
	check(os.WriteFile(filepath.Join(dir, "a.0"), append(a, b[binary.BigEndian.Uint32(b):]...), 0o644))
	s := &show{values: true}
	c := newCommand(s)
	c.Stdout = new(bytes.Buffer)
	_, err := c.Parse([]string{"-Z", "UTC"})
	check(err)
	d, err := newDumper(t.Context(), c, s, filepath.Join(dir, "a"))
	check(err)
	defer d.set.Close()
	var out bytes.Buffer
	d.out = bufio.NewWriter(&out)
	check(d.setTimes(c))
	check(d.print(nil))
	d.out.Flush()
	got := regexp.MustCompile(`value \d+`).FindAllString(out.String(), -1)
	if diff := cmp.Diff([]string{"value 1000", "value 1010", "value 1020"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
