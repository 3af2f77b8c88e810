package pmapi_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// asPCP6 opens archives with the interpolation of PCP 6.0.3, for comparison with that release. Only
// values between records need it: PCP 6.3.2 and later interpolate differently.
var asPCP6 = pmapi.ArchiveOptions{PriorValues: true}

// nearestMetrics are the metrics of nearestArchive, with what they record.
var nearestMetrics = []struct {
	name string
	desc pdu.Desc
}{
	{"m.count", pdu.Desc{Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemCounter}},
	{"m.instant", pdu.Desc{Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemInstant}},
	{"m.discrete", pdu.Desc{Type: pdu.Type64, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}},
	{"m.text", pdu.Desc{Type: pdu.TypeString, InDom: pdu.NoInDom, Sem: pdu.SemInstant}},
	{"m.state", pdu.Desc{Type: pdu.TypeString, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}},
}

// nearestArchive makes an archive from second 0 to 45, with a mark after second 25.
func nearestArchive(t *testing.T) (base string) {
	t.Helper()
	base = filepath.Join(t.TempDir(), "nearest")
	im, err := logimport.New(base, archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	_, err = im.AddMetric("k", pdu.Desc{Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemInstant})
	check(err)
	for _, m := range nearestMetrics {
		_, err = im.AddMetric(m.name, m.desc)
		check(err)
	}
	write := func(second int, values ...string) {
		for i, m := range nearestMetrics[:len(values)] {
			check(im.PutText(m.name, "", values[i]))
		}
		if len(values) == 0 {
			check(im.Put("k", "", pdu.Uint32(0)))
		}
		check(im.Write(archiveStart.Add(time.Duration(second) * time.Second)))
	}
	write(0)
	write(5, "100", "100", "100", "a", "a")
	write(15, "200", "200", "200", "b", "b")
	write(25, "151", "151", "151", "c", "c")
	check(im.PutMark())
	write(35, "1000", "1000", "1000", "d", "d")
	write(45)
	check(im.Close())
	return base
}

// TestArchiveNearest interpolates all kinds of metrics, forward and backward.
func TestArchiveNearest(t *testing.T) {
	base := nearestArchive(t)
	want := strings.Split(strings.Trim(`
0 - - - - -
2.5 - - - - -
5 100 100 100 a a
7.5 125 100 100 a a
10 150 100 100 a a
12.5 175 200 200 a a
15 200 200 200 b b
17.5 188 200 200 b b
20 176 200 200 b b
22.5 163 151 151 b b
25 151 151 151 c c
27.5 - - - - -
30 - - - - -
32.5 - - - - -
35 1000 1000 1000 d d
37.5 - - 1000 - d
40 - - 1000 - d
42.5 - - 1000 - d
45 - - 1000 - d`, "\n"), "\n")
	if diff := cmp.Diff(want, nearestRows(t, pmapi.ArchiveOptions{}, base, 0, 2500*time.Millisecond)); diff != "" {
		t.Errorf("forward (-want +got):\n%s", diff)
	}
	back := nearestRows(t, pmapi.ArchiveOptions{}, base, 45*time.Second, -2500*time.Millisecond)
	for i, row := range back {
		if other := want[len(want)-1-i]; row != other && !strings.Contains(other, " - 1000 ") {
			t.Errorf("backward %q, want %q", row, other)
		}
	}
	if got := nearestRows(t, asPCP6, base, 12500*time.Millisecond, time.Minute); got[0] != "12.5 175 100 100 a a" {
		t.Errorf("as PCP 6: %q", got[0])
	}
}

// nearestRows fetches all metrics of nearestArchive at regular times.
func nearestRows(t *testing.T, o pmapi.ArchiveOptions, base string, from, step time.Duration) (rows []string) {
	t.Helper()
	c, err := o.Open(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var names []string
	for _, m := range nearestMetrics {
		names = append(names, m.name)
	}
	ids, err := c.Lookup(t.Context(), names)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetMode(t.Context(), pmapi.ModeInterp, archiveStart.Add(from), step); err != nil {
		t.Fatal(err)
	}
	var r pdu.Result
	for {
		err := c.Fetch(t.Context(), ids, &r)
		if errors.Is(err, pdu.ErrEOL) {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		row := fmt.Sprint(r.Time.Sub(archiveStart).Seconds())
		for i, set := range r.All() {
			text := " -"
			if set.Len() > 0 {
				text = fmt.Sprint(" ", set.Atom(0, nearestMetrics[i].desc.Type))
			}
			row += strings.ReplaceAll(text, `"`, "")
		}
		rows = append(rows, row)
	}
}
