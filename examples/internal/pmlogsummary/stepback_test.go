package pmlogsummary

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/pdu"
)

// TestTimeStepsBack adds up two imports, one after the other in one volume. As in PCP's tool, the
// records of the second that lie before the end of the first do not count.
func TestTimeStepsBack(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, from, to, base int) (volume []byte) {
		im, err := logimport.New(filepath.Join(dir, name), archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := im.AddMetric("m.x", pdu.Desc{Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemInstant}); err != nil {
			t.Fatal(err)
		}
		for at := from; at <= to; at += 2 {
			if err := im.Put("m.x", "", pdu.Uint32(uint32(base+(at-from)*5))); err != nil {
				t.Fatal(err)
			}
			if err := im.Write(time.Unix(int64(1000+at), 0)); err != nil {
				t.Fatal(err)
			}
		}
		if err := im.Close(); err != nil {
			t.Fatal(err)
		}
		volume, err = os.ReadFile(filepath.Join(dir, name+".0"))
		if err != nil {
			t.Fatal(err)
		}
		return volume
	}
	a, b := write("a", 0, 20, 0), write("b", 9, 29, 1000)
	both := append(a, b[binary.BigEndian.Uint32(b):]...)
	if err := os.WriteFile(filepath.Join(dir, "a.0"), both, 0o644); err != nil {
		t.Fatal(err)
	}
	s := &show{average: true}
	c := newCommand(s)
	if _, err := c.Parse([]string{"-Z", "UTC"}); err != nil {
		t.Fatal(err)
	}
	m, err := openSummary(t.Context(), c, s, filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.set.Close()
	m.out = bufio.NewWriter(io.Discard)
	if err := m.setTimes(c); err != nil {
		t.Fatal(err)
	}
	if err := m.scan(); err != nil {
		t.Fatal(err)
	}
	for _, known := range m.reader.Metrics() {
		if got := known.State.series[0]; got.count != 16 || got.sum != 5950 {
			t.Errorf("%d values, sum %v, want 16 and 5950", got.count, got.sum)
		}
	}
}
