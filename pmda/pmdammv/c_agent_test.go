package pmdammv_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
)

// A side is a collector with an agent that serves the files of a directory.
type side struct{ name, host string }

// sides starts C pmcd with the C agent, our collector with our agent as the "dso" line of pmcd.conf
// names it, and C pmcd with our agent as a program. All serve the files in dir/mmv.
func sides(t *testing.T, dir string) []side {
	t.Helper()
	pcptest.Need(t, "pmcd", "pminfo", filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "mmv", "pmda_mmv.so"))
	env := []string{"PCP_TMP_DIR=" + dir}
	me, err := user.Current() // the user that may read the files
	if err != nil {
		t.Fatal(err)
	}
	c := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"mmv"}, Env: env})
	program := pcptest.StartPMCD(t, pcptest.Config{PMNS: pcptest.Names(t, "mmv"), Env: env, Agents: []string{
		fmt.Sprintf("mmv 70 pipe binary %s -d 70 -U %s -l %s", pcptest.Build(t, "./examples/pmdammv"), me.Username, filepath.Join(pcptest.ShortDir(t), "mmv.log"))}})
	set := pcptest.Agents(t, "mmv")
	own := pcptest.ShortDir(t)
	write(t, filepath.Join(own, "conf"), []byte(set.Conf))
	write(t, filepath.Join(own, "pmns"), []byte(set.PMNS))
	port := pcptest.FreePort(t)
	host := fmt.Sprintf("localhost:%d", port)
	pcptest.Start(t, pcptest.Daemon{
		Path: pcptest.Build(t, "./examples/pmcd"), Env: append(set.Env, env...), Dir: own, Addr: host, Greets: true,
		Args: []string{"-f", "-l", "-", "-i", "127.0.0.1", "-p", strconv.Itoa(port), "-s", filepath.Join(own, "s"),
			"-c", filepath.Join(own, "conf"), "-n", filepath.Join(own, "pmns")},
	})
	return []side{{"C", c.Host()}, {"in the collector", host}, {"program", program.Host()}}
}

func write(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// newDir returns a directory that contains mmv, for PCP_TMP_DIR.
func newDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "mmv"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// same checks that pminfo prints the same for all sides, and returns that.
func same(t *testing.T, all []side, args ...string) string {
	t.Helper()
	show := func(s side) []string {
		out, errs, status := pcptest.Run(t, nil, "", append([]string{"pminfo", "-h", s.host}, args...)...)
		return strings.Split(fmt.Sprintf("%s%sexit status %d", out, errs, status), "\n")
	}
	want := show(all[0])
	for _, s := range all[1:] {
		if diff := cmp.Diff(want, show(s)); diff != "" {
			t.Errorf("pminfo %s: %s (-C +Go):\n%s", strings.Join(args, " "), s.name, diff)
		}
	}
	return strings.Join(want, "\n")
}

// drive compiles a C program with libpcp_mmv and runs it. The program writes files into dir/mmv.
func drive(t *testing.T, dir, source string, runs ...[]string) {
	t.Helper()
	program := pcptest.BuildC(t, source, "-lpcp_mmv", "-lpcp")
	for _, args := range runs {
		if _, errs, status := pcptest.Run(t, []string{"PCP_TMP_DIR=" + dir}, "", append([]string{program}, args...)...); status != 0 {
			t.Fatalf("%s %q: exit status %d\n%s", source, args, status, errs)
		}
	}
}

// sameInAll checks that pminfo prints the same for all sides, except the texts of the agent's own
// metrics. It returns what pminfo prints for the other metrics.
func sameInAll(t *testing.T, all []side) string {
	t.Helper()
	same(t, all, "-dfml", "mmv")
	return same(t, all, append([]string{"-dfmtTl"}, metricsBut(t, all[0], controls...)...)...)
}

// controls are the agent's own metrics. A file may be named control too.
var controls = []string{"mmv.control.reload", "mmv.control.debug", "mmv.control.files"}

// metricsBut returns the metrics of a side whose names contain none of the words.
func metricsBut(t *testing.T, s side, words ...string) (names []string) {
	t.Helper()
	out, errs, status := pcptest.Run(t, nil, "", "pminfo", "-h", s.host, "mmv")
	if status != 0 {
		t.Fatalf("pminfo mmv: exit status %d\n%s", status, errs)
	}
	for name := range strings.Lines(out) {
		if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) }) {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

// TestFilesOfC serves files that C programs have written.
func TestFilesOfC(t *testing.T) {
	dir := newDir(t)
	all := sides(t, dir)
	drive(t, dir, "testdata/shapes.c", nil)
	// PCP 6 returns no help text for a metric without values.
	names := metricsBut(t, all[0], append([]string{".none"}, controls...)...)
	if len(names) < 100 {
		t.Fatalf("C's agent has %d metrics", len(names))
	}
	still := metricsBut(t, all[0], "interval") // it grows
	out := same(t, all, append([]string{"-dfml"}, still...)...)
	for _, want := range []string{"mmv.labels.by.colour", `"wave":530`, `"tier":2`, "value -70000000000", `inst [2 or "green light"] value "on"`} {
		if !strings.Contains(out, want) {
			t.Errorf("nothing has %q", want)
		}
	}
	same(t, all, append([]string{"-tT"}, names...)...)
	same(t, all, "mmv")
	same(t, all, "-I", "mmv.labels")
	same(t, all, "-f", "mmv.control")
	drive(t, dir, "testdata/shapes.c", nil) // replaces all
	same(t, all, append([]string{"-dfml"}, still...)...)
}

// TestFilesOfGo serves files that Registries have written, also while they grow.
func TestFilesOfGo(t *testing.T) {
	dir := newDir(t)
	all := sides(t, dir)
	for v := mmv.Version(1); v <= 3; v++ {
		r := &mmv.Registry{Name: fmt.Sprint("go", v), Version: v}
		if v == 3 {
			r.Labels = mmv.Labels{"app": "test"}
		}
		r.Counter("requests", mmv.Metric{Text: "Requests", Help: "Requests\nof all kinds", Units: pdu.UnitCount}).Add(3)
		r.FloatGauge("load", mmv.Metric{}).Set(0.25)
		r.Text("state", mmv.Metric{Text: "State"}).Set("running")
		h := r.Histogram("latency", mmv.Metric{Text: "Latency", Units: pdu.TimeSec}, mmv.ExponentialBuckets(0.001, 10, 5))
		for i := range 100 {
			h.Observe(float64(i) / 100)
		}
		by := r.InDom("kind", mmv.Domain{Text: "Kinds"}).Counter("by.kind", mmv.Metric{Text: "By kind"})
		by.With("get").Add(5)
		by.With("post").Add(6)
		if err := r.Publish(filepath.Join(dir, "mmv")); err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if out := sameInAll(t, all); !strings.Contains(out, `or "post"] value 6`) {
			t.Errorf("version %d:\n%s", v, out)
		}
		for i := range 100 { // within the reserved room, and beyond it
			r.Gauge(fmt.Sprint("more", i), mmv.Metric{Text: "One more"}).Set(int64(i))
			by.With(fmt.Sprint("put", i)).Add(1)
		}
		if out := sameInAll(t, all); strings.Count(out, "One more") < 100 {
			t.Errorf("version %d, grown:\n%s", v, out)
		}
	}
}

// TestFilesOfTestSuite serves files of the programs of PCP's test suite and of its demo.
func TestFilesOfTestSuite(t *testing.T) {
	const src = "/var/lib/pcp/testsuite/src"
	pcptest.Need(t, filepath.Join(src, "mmv_genstats.c"))
	dir := newDir(t)
	all := sides(t, dir)
	for _, d := range []struct {
		program string
		runs    [][]string
	}{
		{"mmv_genstats", [][]string{{"gen1"}}},
		{"mmv2_genstats", [][]string{{"gen2"}}},
		{"mmv3_genstats", [][]string{{"gen3"}}},
		{"mmv_simple", [][]string{nil}},
		{"mmv2_simple", [][]string{nil}},
		{"mmv3_simple", [][]string{nil}},
		{"mmv_instances", [][]string{{"dogs"}, {"cats"}, {"mice"}}},
		{"mmv2_instances", [][]string{{"dogs2"}, {"cats2"}, {"mice2"}, {"film2"}}},
		{"mmv3_labels", [][]string{nil}},
		{"mmv_help", [][]string{nil}},
		{"mmv_nostats", [][]string{nil}},
		{"mmv2_nostats", [][]string{nil}},
		{"mmv3_nostats", [][]string{nil}},
	} {
		drive(t, dir, filepath.Join(src, d.program+".c"), d.runs...)
	}
	if out := sameInAll(t, all); strings.Count(out, "PMID:") < 30 {
		t.Errorf("too few metrics:\n%s", out)
	}
	if err := os.Remove(filepath.Join(dir, "mmv", "cats")); err != nil {
		t.Fatal(err)
	}
	if out := same(t, all, "-f", "mmv.animals"); strings.Contains(out, "Tom") || !strings.Contains(out, "Jerry") {
		t.Errorf("without the file of cats:\n%s", out)
	}
}

// A patch makes a flaw in a file. In the patched files, the table of contents starts at offset 40.
// It has entries for domains, instances, metrics, values and strings.
type patch struct {
	name string
	do   func(b []byte) []byte
}

func u32(off int, v uint32) func(b []byte) []byte {
	return func(b []byte) []byte { binary.NativeEndian.PutUint32(b[off:], v); return b }
}

func u64(off int, v uint64) func(b []byte) []byte {
	return func(b []byte) []byte { binary.NativeEndian.PutUint64(b[off:], v); return b }
}

func cut(n int) func(b []byte) []byte { return func(b []byte) []byte { return b[:n] } }

// Offsets in mmv/testdata/v1.mmv.
const (
	tocs, cluster, toc           = 24, 36, 40
	indoms, metrics, values      = 120, 312, 728
	metricLen, valueLen, nameLen = 104, 32, 64
)

// patches are the flaws that the C agent survives.
var patches = []patch{
	{"good", cut(2168)},
	{"bytes0", cut(0)},
	{"bytes39", cut(39)},
	{"bytes40", cut(40)},
	{"tocs1", u32(tocs, 1)},
	{"tocs_1", u32(tocs, 0xffffffff)},
	{"tocs100", u32(tocs, 1000)},
	{"version4", u32(4, 4)},
	{"magic", func(b []byte) []byte { b[3] = '1'; return b }},
	{"cluster_1", u32(cluster, 0xffffffff)},
	{"cluster4096", u32(cluster, 4096)},
	{"cluster4095", u32(cluster, 4095)},
	{"cutvalues", cut(values + 40)},
	{"cutstrings", cut(values + 5*valueLen + 300)},
	{"section42", u32(toc+4*16, 42)},
	{"manymetrics", u32(toc+2*16+4, 1024)},
	{"manyvalues", u32(toc+3*16+4, 1<<30)},
	{"faroffset", u64(toc+3*16+8, 1<<40)},
	{"serial", u32(indoms, 1<<22)},
	{"manyinstances", u32(indoms+4, 1<<20)},
	{"noindom", u32(metrics+nameLen+16, 77)},
	{"type42", u32(metrics+nameLen+4, 42)},
	{"sem9", u32(metrics+nameLen+8, 9)},
	{"sem0", u32(metrics+3*metricLen+nameLen+8, 0)},
	{"item1024", u32(metrics+nameLen, 1024)},
	{"sameitem", u32(metrics+nameLen, 2)},
	{"string", u64(values+2*valueLen+8, 1<<40)},
	{"string_5", u64(values+2*valueLen+8, 0xfffffffffffffffb)},
	{"nometric", u64(values+2*valueLen+16, 8)},
	{"texts", u64(metrics+nameLen+24, 1<<40)},
	{"badname", func(b []byte) []byte { b[metrics] = '/'; return b }},
}

// TestDamagedFiles serves files with flaws.
func TestDamagedFiles(t *testing.T) {
	good, err := os.ReadFile("../../mmv/testdata/v1.mmv")
	if err != nil {
		t.Fatal(err)
	}
	if binary.NativeEndian.Uint32(good[4:]) != 1 {
		t.Skip("the recorded file has another byte order than this host")
	}
	dir := newDir(t)
	all := sides(t, dir)
	for i, p := range patches {
		b := bytes.Clone(good)
		b = u32(28, 0)(b) // without the flag of a process
		b = u32(cluster, uint32(200+i))(b)
		write(t, filepath.Join(dir, "mmv", p.name), p.do(b))
	}
	for _, name := range []string{".dot", "directory"} {
		if err := os.Mkdir(filepath.Join(dir, "mmv", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	out := same(t, all, "-dfml", "mmv")
	for _, want := range []string{"mmv.good.rate", "mmv.type42.hits", "illegal metric type", "value 21"} {
		if !strings.Contains(out, want) {
			t.Errorf("nothing has %q:\n%s", want, out)
		}
	}
	// The others lack values.
	same(t, all, "-tT", "mmv.good", "mmv.texts", "mmv.type42", "mmv.badname", "mmv.cutstrings")
}

// TestStoreToControl stores to the agent's own metrics, and to others.
func TestStoreToControl(t *testing.T) {
	pcptest.Need(t, "pmstore")
	dir := newDir(t)
	all := sides(t, dir)
	drive(t, dir, "testdata/shapes.c", nil)
	for _, args := range [][]string{
		{"mmv.control.reload", "1"}, {"mmv.control.reload", "0"}, {"mmv.control.debug", "3"}, {"mmv.control.debug", "0"},
		{"mmv.control.files", "1"}, {"mmv.types.u32", "1"}, {"-i", "red", "mmv.domains.by.colour", "1"},
	} {
		var want []string
		for _, s := range all {
			out, errs, status := pcptest.Run(t, nil, "", append([]string{"pmstore", "-h", s.host}, args...)...)
			got := []string{out, errs, strconv.Itoa(status)}
			if want == nil {
				want = got
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("pmstore %q: %s (-C +Go):\n%s", args, s.name, diff)
			}
		}
		same(t, all, "-f", "mmv.control")
	}
}

// TestFileInFlux changes a file in place. It must not be served until its generations are the same
// again.
func TestFileInFlux(t *testing.T) {
	dir := newDir(t)
	all := sides(t, dir)
	drive(t, dir, "testdata/shapes.c", nil)
	path := filepath.Join(dir, "mmv", "types")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	put := func(off int64, v uint64) {
		t.Helper()
		if _, err := f.WriteAt(binary.NativeEndian.AppendUint64(nil, v), off); err != nil {
			t.Fatal(err)
		}
	}
	look := func(want string) {
		t.Helper()
		if out := same(t, all, "-f", "mmv.types.u32", "mmv.control.reload"); !strings.Contains(out, want) {
			t.Errorf("no %q:\n%s", want, out)
		}
	}
	look("value 4294967295")
	put(16, 0)
	look("Unknown metric name")
	if out := same(t, all, "-f", "mmv.control.reload"); !strings.Contains(out, "value 1") {
		t.Errorf("in flux:\n%s", out)
	}
	put(8, 12345)
	put(16, 12345)
	look("value 4294967295")
	if out := same(t, all, "-f", "mmv.control"); strings.Contains(out, "value 1\n\n") {
		t.Errorf("complete again:\n%s", out)
	}
}
