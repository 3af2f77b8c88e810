//go:build unix

package mmv

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// startAgent runs a private C pmcd with the C pmdammv, and returns it with the directory for files.
func startAgent(t *testing.T) (pmcd *pcptest.PMCD, dir string) {
	t.Helper()
	pcptest.Need(t, "pmcd", "pminfo")
	tmp := pcptest.ShortDir(t)
	dir = filepath.Join(tmp, "mmv")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"mmv"}, Env: []string{"PCP_TMP_DIR=" + tmp}}), dir
}

// pminfo runs pminfo for some metrics.
func pminfo(t *testing.T, pmcd *pcptest.PMCD, args ...string) string {
	t.Helper()
	out, errs, _ := pcptest.Run(t, nil, "", append([]string{"pminfo", "-h", pmcd.Host()}, args...)...)
	if errs != "" {
		t.Errorf("pminfo %v: %s", args, errs)
	}
	return out
}

var instanceLine = regexp.MustCompile(`^    inst \[-?\d+ or "(.*)"\] value (.*)$`)

// infoValues are the values that pminfo -f prints, by metric without a prefix and instance.
func infoValues(t *testing.T, out, prefix string) map[string]string {
	t.Helper()
	values := make(map[string]string)
	metric := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, prefix) {
			metric = strings.TrimPrefix(line, prefix)
		} else if v, ok := strings.CutPrefix(line, "    value "); ok {
			values[metric] = infoValue(v)
		} else if m := instanceLine.FindStringSubmatch(line); m != nil {
			values[metric+"["+m[1]+"]"] = infoValue(m[2])
		} else if e, ok := strings.CutPrefix(line, "Error: "); ok {
			values[metric] = e
		} else if line != "" && line != "No value(s) available!" {
			t.Errorf("pminfo prints %q", line)
		}
	}
	return values
}

// infoValue is a value of pminfo as writtenValues has it.
func infoValue(s string) string {
	if x, err := strconv.ParseFloat(s, 64); err == nil {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strings.Trim(s, `"`)
}

// infoDescs are the lines of pminfo -dmtT for the metrics of a file.
func infoDescs(f *File, prefix string) map[string][]string {
	descs := make(map[string][]string)
	for _, m := range f.Metrics {
		indom := pdu.NoInDom
		if m.InDom != 0 {
			indom = pdu.MakeInDom(70, f.Cluster<<clusterShift|int(m.InDom))
		}
		units := m.Units.String()
		if units == "" {
			units = "none"
		}
		typ := map[pdu.Type]string{pdu.Type32: "32-bit int", pdu.TypeU32: "32-bit unsigned int", pdu.Type64: "64-bit int",
			pdu.TypeU64: "64-bit unsigned int", pdu.TypeFloat: "float", pdu.TypeDouble: "double", pdu.TypeString: "string",
			pdu.TypeNoSupport: "Not Supported"}[m.Type]
		lines := []string{fmt.Sprintf("%s%s PMID: 70.%d.%d", prefix, m.Name, f.Cluster, m.Item)}
		if short, err := m.Text(pdu.TextOneLine); err == nil {
			lines[0] += " [" + short + "]"
		}
		lines = append(lines, fmt.Sprintf("    Data Type: %s  InDom: %v 0x%x", typ, indom, uint32(indom)),
			fmt.Sprintf("    Semantics: %v  Units: %s", m.Sem, units))
		descs[prefix+m.Name] = lines
	}
	return descs
}

// TestWriterInterop: the C pmdammv serves what registries have written, and mmvdump prints it as
// Dump does.
func TestWriterInterop(t *testing.T) {
	t.Parallel()
	tool := mmvdump(t)
	pmcd, dir := startAgent(t)
	for _, s := range writerShapes {
		t.Run(s.name, func(t *testing.T) {
			r := publishShape(t, s, dir)
			path := filepath.Join(dir, r.Name)
			if !compareDumps(t, tool, path) {
				t.Error(errCrash)
			}
			f, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			prefix := "mmv." + r.Name + "."
			if r.NoPrefix {
				prefix = "mmv."
			}
			if len(f.Metrics) > 0 {
				compareInfo(t, pmcd, f, s.wanted(), prefix)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			os.Remove(path)
		})
	}
}

// compareInfo compares what pminfo prints of the metrics of a file with what was written.
func compareInfo(t *testing.T, pmcd *pcptest.PMCD, f *File, want map[string]string, prefix string) {
	t.Helper()
	top := strings.TrimSuffix(prefix, ".")
	if prefix == "mmv." {
		top += "." + f.Metrics[0].Name
	}
	got := infoValues(t, pminfo(t, pmcd, "-f", top), prefix)
	for key, v := range got {
		if strings.HasSuffix(v, pdu.ErrAppVersion.Error()) {
			got[key] = pdu.ErrAppVersion.Error()
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-written +pminfo):\n%s", diff)
	}
	info := pminfo(t, pmcd, "-dmt", top)
	for _, lines := range infoDescs(f, prefix) {
		for _, line := range lines {
			if !strings.Contains(info, line) {
				t.Errorf("pminfo lacks %q, it prints\n%.2000s", line, info)
				return
			}
		}
	}
	help, labels := pminfo(t, pmcd, "-T", top), pminfo(t, pmcd, "-l", top)
	for _, m := range f.Metrics {
		if s, err := m.Text(pdu.TextHelp); err == nil && !strings.Contains(help, s) {
			t.Errorf("pminfo -T lacks %q, it prints\n%.2000s", s, help)
		}
	}
	for _, l := range f.Labels {
		set, err := pdu.ParseLabels(pdu.LabelItem, l.JSON, false)
		if err != nil {
			t.Fatal(err)
		}
		for label := range set.All() {
			if s := fmt.Sprintf("%q:%s", label.Name, label.Value); !strings.Contains(labels, s) {
				t.Errorf("pminfo -l lacks %s, it prints\n%.2000s", s, labels)
			}
		}
	}
}

// TestGrowthInterop: values that the C pmdammv serves do not go back while a registry grows: 1,000
// times with PCP_INTEROP=require.
func TestGrowthInterop(t *testing.T) {
	t.Parallel()
	pmcd, dir := startAgent(t)
	r := &Registry{Name: "grow"}
	counter := r.Counter("counter", Metric{})
	growths := 200
	if thorough() {
		growths = 1000
	}
	if err := r.Publish(dir); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					counter.Inc()
					time.Sleep(100 * time.Microsecond)
				}
			}
		})
	}
	wg.Go(func() {
		d := r.InDom("d", Domain{})
		c := d.Counter("c", Metric{})
		for i := range growths {
			c.With(fmt.Sprint("i", i)).Inc()
			if i%100 == 99 {
				d.Remove(fmt.Sprint("i", i-10))
			}
			time.Sleep(500 * time.Microsecond)
		}
		close(done)
	})
	last, samples, missing := 0.0, 0, 0
	for open := true; open; {
		select {
		case <-done:
			open = false
		default:
		}
		out, errs, _ := pcptest.Run(t, nil, "", "pminfo", "-h", pmcd.Host(), "-f", "mmv.grow.counter")
		samples++
		v := infoValues(t, out, "mmv.grow.")["counter"]
		if v == "" && midChange.MatchString(out+errs) {
			missing++
			continue
		}
		x, err := strconv.ParseFloat(v, 64)
		if err != nil {
			t.Errorf("after %v pminfo prints %q, %q", last, out, errs)
			continue
		}
		if x < last {
			t.Errorf("after %v pminfo prints %v", last, x)
		}
		last = max(x, last)
	}
	if missing > samples/20 {
		t.Errorf("%d of %d samples have no value", missing, samples)
	}
	wg.Wait()
	v := infoValues(t, pminfo(t, pmcd, "-f", "mmv.grow.counter"), "mmv.grow.")["counter"]
	if want := strconv.FormatFloat(float64(counter.Value()), 'g', -1, 64); v != want {
		t.Errorf("at the end pminfo prints %s, the handle has %s", v, want)
	}
	t.Logf("%d samples", samples)
}

// midChange is what pminfo prints when C's agent leaves a file out that it finds in the middle of a
// change, which is rare: by whether the name, the descriptor or the value was asked for then.
var midChange = regexp.MustCompile(`Unknown metric name|Unknown or illegal metric identifier|No value\(s\) available!`)

// TestKilledInterop: the C pmdammv leaves out the metrics of a process that was killed, and serves
// those of the next one.
func TestKilledInterop(t *testing.T) {
	t.Parallel()
	pmcd, dir := startAgent(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), "MMV_TEST_VICTIM="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Error(err)
	}
	want := map[string]string{"old": "5"}
	if diff := cmp.Diff(want, infoValues(t, pminfo(t, pmcd, "-f", "mmv.app"), "mmv.app.")); diff != "" {
		t.Errorf("before (-want +got):\n%s", diff)
	}
	cmd.Process.Kill()
	cmd.Wait()
	_, errs, _ := pcptest.Run(t, nil, "", "pminfo", "-h", pmcd.Host(), "-f", "mmv.app")
	if !strings.Contains(errs, "Unknown metric name") && hostPIDs() {
		t.Errorf("after kill -9 pminfo says %q", errs)
	}
	r := &Registry{Name: "app"}
	r.Gauge("new", Metric{}).Set(6)
	if err := r.Publish(dir); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	want = map[string]string{"new": "6"}
	if diff := cmp.Diff(want, infoValues(t, pminfo(t, pmcd, "-f", "mmv.app"), "mmv.app.")); diff != "" {
		t.Errorf("after (-want +got):\n%s", diff)
	}
}
