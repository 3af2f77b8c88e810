package mmv

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// sampleInDom and the constants below are the contents of the recorded files, as lines of
// describe. In v2.mmv an instance has a longer name.
const sampleInDom = `indom 5 "colours" text not available
  1 red
  2 green
`

const sampleMetrics = `metric hits item 1 U32 counter count indom 5 "Hits" "Hits by colour"
  hits[1 red] = 7
  hits[2 green] = 2
metric state item 2 STRING discrete  indom 0 text not available text not available
  state = "idle"
metric busy item 3 ELAPSED counter microsec indom 0 text not available "Busy time"
  busy = 1000
metric rate item 4 DOUBLE instant Kbyte / sec indom 0 text not available text not available
  rate = 2.500000e+00
`

const sampleLabelText = `label 8 13 -1 {"app":"demo"}
label 4 5 -1 {"palette":"rgb"}
label 90 1 -1 {"critical":true}
label 20 5 2 {"wave":530}
label 10 4 -1 {"parts":{"a":[1,2]}}
`

// describe is all that a file says, with its values, as text.
func describe(t testing.TB, f *File, now time.Time) string {
	t.Helper()
	var b strings.Builder
	text := func(s string, err error) string {
		switch {
		case errors.Is(err, pdu.ErrText):
			return "text not available"
		case err != nil:
			return err.Error()
		}
		return fmt.Sprintf("%q", s)
	}
	for i := range f.InDoms {
		d := &f.InDoms[i]
		fmt.Fprintf(&b, "indom %d %s %s\n", d.Serial, text(d.Text(pdu.TextOneLine)), text(d.Text(pdu.TextHelp)))
		for _, inst := range d.Instances {
			fmt.Fprintf(&b, "  %d %s\n", inst.ID, inst.Name)
		}
	}
	s, err := f.Snapshot(now)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range s.Metrics {
		d := m.Metric
		fmt.Fprintf(&b, "metric %s item %d %v %v %v indom %d %s %s\n", d.Name, d.Item, d.inFile(), d.Sem, d.Units, d.InDom,
			text(d.Text(pdu.TextOneLine)), text(d.Text(pdu.TextHelp)))
		for _, v := range m.Values {
			fmt.Fprintf(&b, "  %s", d.Name)
			if d.InDom != 0 {
				fmt.Fprintf(&b, "[%d %s]", v.Instance.ID, v.Instance.Name)
			}
			if v.Err != nil {
				fmt.Fprintf(&b, ": %v\n", v.Err)
			} else {
				fmt.Fprintf(&b, " = %v\n", v.Value)
			}
		}
	}
	for _, l := range f.Labels {
		fmt.Fprintf(&b, "label %x %d %d %s\n", l.Flags, l.Identity, l.Instance, l.JSON)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	type header struct {
		Version Version
		Flags   fileFlags
		Cluster int
	}
	for _, c := range []struct {
		file   string
		header header
		text   string
	}{
		{"v1.mmv", header{version1, flagProcess, 11}, sampleInDom + sampleMetrics},
		{"v2.mmv", header{version2, 0, 32}, strings.ReplaceAll(sampleInDom+sampleMetrics, "red", strings.Repeat("red", 30))},
		{"v3.mmv", header{version3, flagProcess, 13}, sampleInDom + sampleMetrics + sampleLabelText},
	} {
		t.Run(c.file, func(t *testing.T) {
			f, err := Read(bytes.NewReader(recorded(t, c.file)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.header, header{f.Version, f.flags, f.Cluster}); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
			if (f.PID != 0) != (f.flags == flagProcess) || f.Generation == 0 {
				t.Errorf("process %d, generation %d", f.PID, f.Generation)
			}
			if diff := cmp.Diff(c.text, describe(t, f, time.Now())); diff != "" {
				t.Errorf("contents (-want +got):\n%s", diff)
			}
			if f.Flaws != 0 {
				t.Errorf("flaws: %v", f.Problems)
			}
		})
	}
}

// flawOf reads a file with a flaw and returns the errors, and the differences from the file
// without it.
func flawOf(t testing.TB, image []byte, whole string) string {
	t.Helper()
	f, err := Read(bytes.NewReader(image))
	if err != nil {
		if _, ok := errors.AsType[*formatError](err); !ok {
			t.Errorf("error %v (%T), want a *formatError", err, err)
		}
		if errors.Is(err, ErrInFlux) {
			return "in flux\n"
		}
		return err.Error() + "\n"
	}
	text := ""
	for _, p := range f.Problems {
		if _, ok := errors.AsType[*formatError](p); !ok {
			t.Errorf("problem %v (%T), want a *formatError", p, p)
		}
		text += p.Error() + "\n"
	}
	return text + difference(whole, describe(t, f, time.Now()))
}

// difference is the lines that one text has more or less than another one, in order.
func difference(want, got string) string {
	var b strings.Builder
	rest := strings.SplitAfter(got, "\n")
	for line := range strings.SplitAfterSeq(want, "\n") {
		i := slices.Index(rest, line)
		if i < 0 {
			b.WriteString("- " + line)
			continue
		}
		for _, more := range rest[:i] {
			b.WriteString("+ " + more)
		}
		rest = rest[i+1:]
	}
	return b.String()
}

// TestCorrupt: of each flaw, what Read makes of the file. testdata/corrupt_v1.txt and
// corrupt_v2.txt have it.
func TestCorrupt(t *testing.T) {
	for _, version := range []string{"v1", "v2"} {
		whole, err := Read(bytes.NewReader(recorded(t, version+".mmv")))
		if err != nil {
			t.Fatal(err)
		}
		text := describe(t, whole, time.Now())
		var b strings.Builder
		for _, c := range corruptions(t, version+".mmv") {
			fmt.Fprintf(&b, "== %s\n%s", c.name, flawOf(t, c.image, text))
		}
		compareGolden(t, "corrupt_"+version+".txt", b.String())
	}
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.SplitAfter(string(want), "\n"), strings.SplitAfter(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := Open(dir); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("directory: %v", err)
	}
	path := filepath.Join(dir, "short")
	if err := os.WriteFile(path, []byte("MMV\x00"), 0o644); err != nil {
		t.Fatal(err)
	}
	want := "mmv: " + path + ": header at offset 4: the file has 4 bytes, a header 40"
	if _, err := Open(path); err == nil || err.Error() != want {
		t.Errorf("short file: %v, want %s", err, want)
	}
	if _, err := Read(huge{}); err == nil || !strings.Contains(err.Error(), "limit 268435456") {
		t.Errorf("huge file: %v", err)
	}
}

// TestShapes: files of the C library have the metadata and values of the script.
func TestShapes(t *testing.T) {
	pcptest.Need(t, "gcc", "pcp/mmv_stats.h", "-lpcp_mmv")
	now := time.Now()
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			f, err := Open(writeC(t, s.script))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			want, ok := shapeValues[s.name]
			if ok {
				if got := valuesOf(t, f, now); got != want {
					t.Errorf("values:\n%s\nwant:\n%s", got, want)
				}
			}
			if wantFlaws := shapeFlaws[s.name]; f.Flaws != wantFlaws {
				t.Errorf("%d flaws, want %d: %v", f.Flaws, wantFlaws, f.Problems)
			}
		})
	}
}

// shapeFlaws are the flaws of the files of some shapes.
var shapeFlaws = map[string]int{
	"items":         2, // 5000, and 7 twice
	"1,024 metrics": 1 + 1024,
}

// shapeValues are the values of some shapes.
var shapeValues = map[string]string{
	"types": "m0=-42 m1=42 m2=-4200000000000 m3=4200000000000 m4=1.500000e+00 m5=-2.250000e+00 m6=\"text\" m7=99 m8: " +
		pdu.ErrAppVersion.Error(),
	"sentinels": "m0[minus twenty]=-1 m1[minus twenty]=0 m2[minus twenty]=0 m3[minus twenty]=0 m4[minus twenty]=0.000000e+00 " +
		"m5[minus twenty]=0.000000e+00 m6[minus twenty]=\"there\" m7[minus twenty]=0 m8[ten]: " + pdu.ErrAppVersion.Error() +
		" m8[minus twenty]: " + pdu.ErrAppVersion.Error(),
	"extreme integers":         "i=-2147483648 u=4294967295 l=-9223372036854775808 ul=18446744073709551615",
	"high bits beside 32 bits": "i=2147483647 u=2147483648 f=1.000000e+00",
	"elapsed with a bad start": "e=256",
	"two domains mixed":        "m1[x]=0 m1[y]=5 m2[a]=0 m2[b]=6 n1[x]=7.000000e+00 n1[y]=0.000000e+00",
	"domain without instances": "",
	"domain -1":                "m=0 n=0",
	"extreme instances":        "m[none]=1 m[least]=2 m[greatest]=3",
	"repeated instances":       "m[first]=1 m[third]=3",
	"repeated domain":          "m[a]=0",
	"items":                    "a=1 last=0",
	"1,024 metrics":            "",
}

// valuesOf are all values on a line.
func valuesOf(t *testing.T, f *File, now time.Time) string {
	t.Helper()
	s, err := f.Snapshot(now)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, m := range s.Metrics {
		for _, v := range m.Values {
			name := m.Metric.Name
			if v.Instance.ID != pdu.NoInst || v.Instance.Name != "" {
				name += "[" + v.Instance.Name + "]"
			}
			if v.Err != nil {
				list = append(list, fmt.Sprintf("%s: %v", name, v.Err))
				continue
			}
			list = append(list, fmt.Sprintf("%s=%v", name, v.Value))
		}
	}
	return strings.Join(list, " ")
}

// TestElapsed: an interval in progress counts up to the time of the Reader.
func TestElapsed(t *testing.T) {
	p := newPatcher(t, "v1.mmv")
	start := time.Unix(1_800_000_000, 123_456_000)
	p.u64(p.value(3, valueExtra), uint64(-start.UnixMicro()))
	f, err := Read(bytes.NewReader(p.b))
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Snapshot(start.Add(2500 * time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := s.Lookup("busy", ""); !ok || !v.Equal(pdu.Int64(1000+2_500_000)) {
		t.Errorf("busy = %v, %v", v, ok)
	}
	if v, ok := s.Lookup("hits", "green"); !ok || !v.Equal(pdu.Uint32(2)) {
		t.Errorf("hits of green = %v, %v", v, ok)
	}
	for _, none := range [][2]string{{"hits", "blue"}, {"hits", ""}, {"misses", ""}} {
		if v, ok := s.Lookup(none[0], none[1]); ok {
			t.Errorf("%q = %v, want none", none, v)
		}
	}
}

// TestSentinels: with the flag, all ones, a NaN and an empty string mean no value, for a metric
// without a domain too.
func TestSentinels(t *testing.T) {
	for _, c := range []struct {
		metric, value int
		word          uint64
	}{{2, 3, math.MaxUint64}, {3, 4, math.Float64bits(math.NaN())}, {3, 4, 0xfff8000000000000}} {
		for _, flags := range []fileFlags{0, flagSentinel} {
			p := newPatcher(t, "v3.mmv")
			p.u32(headerFlags, uint32(flags))
			p.u64(p.value(c.value, valueWord), c.word)
			f, err := Read(bytes.NewReader(p.b))
			if err != nil {
				t.Fatal(err)
			}
			var r Reader
			r.Reset(f, time.Now())
			_, err = r.Value(&f.Metrics[c.metric], 0)
			if want := flags == flagSentinel; errors.Is(err, ErrNoValue) != want || !want && err != nil {
				t.Errorf("%s = %x, flags %v: %v", f.Metrics[c.metric].Name, c.word, flags, err)
			}
		}
	}
}
