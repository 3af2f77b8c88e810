package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// agents are those that PCP ships and that start anywhere.
var agents = []string{"pmcd", "proc", "linux", "mmv", "sample", "simple", "trivial", "txmon"}

// collectors are the hosts of C pmcd and of ours, with the same agents.
func collectors(t *testing.T) map[string]string {
	pcptest.Need(t, "pmcd", "pminfo")
	c := pcptest.StartPMCD(t, pcptest.Config{Shipped: agents})
	set := pcptest.Agents(t, agents...)
	dir, port := t.TempDir(), pcptest.FreePort(t)
	conf, names := filepath.Join(dir, "pmcd.conf"), filepath.Join(dir, "pmns")
	for path, text := range map[string]string{conf: set.Conf, names: set.PMNS} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	host := "localhost:" + strconv.Itoa(port)
	pcptest.Start(t, pcptest.Daemon{
		Path: pcptest.Build(t, "./examples/pmcd"),
		Args: []string{"-f", "-l", "-", "-i", "INADDR_LOOPBACK", "-p", strconv.Itoa(port), "-s", filepath.Join(pcptest.ShortDir(t), "s"),
			"-c", conf, "-n", names},
		Env: set.Env, Dir: dir, Addr: host, Greets: true,
	})
	return map[string]string{"C pmcd": c.Host(), "Go pmcd": host}
}

// both runs PCP's pminfo and ours, which have to end alike, and returns what they print.
func both(t *testing.T, args ...string) (want, got, wrong string) {
	t.Helper()
	want, wantErrs, wantStatus := pcptest.Run(t, nil, "", append([]string{"pminfo"}, args...)...)
	got, gotErrs, gotStatus := pcptest.Run(t, nil, "", append([]string{pcptest.Build(t, "./examples/pminfo")}, args...)...)
	if wantErrs != gotErrs || wantStatus != gotStatus {
		wrong = fmt.Sprintf("pminfo %s: status %d, standard error %q, want %d, %q\n", args[:3], gotStatus, gotErrs, wantStatus, wantErrs)
	}
	return want, got, wrong
}

// between runs PCP's pminfo also after ours: what others change meanwhile is not what it was.
func between(t *testing.T, args ...string) (before, got, after, wrong string) {
	t.Helper()
	before, got, wrong = both(t, args...)
	after, _, _ = pcptest.Run(t, nil, "", append([]string{"pminfo"}, args...)...)
	return before, got, after, wrong
}

func compare(want, got string, args ...string) (wrong string) {
	if want == got {
		return ""
	}
	w, g := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	n := 0
	for n < len(w) && n < len(g) && w[n] == g[n] {
		n++
	}
	some := func(lines []string) []string { return lines[n:min(n+20, len(lines))] }
	return fmt.Sprintf("pminfo %s: %d lines, %d of PCP's; from line %d on (-PCP +ours):\n%s", args, len(g), len(w), n+1, cmp.Diff(some(w), some(g)))
}

// TestAllMetrics compares what PCP's pminfo and ours print of all metrics.
func TestAllMetrics(t *testing.T) {
	for name, host := range collectors(t) {
		t.Run(name+"/names", func(t *testing.T) {
			pcptest.Persist(t, func() string {
				want, got, wrong := both(t, "-h", host)
				if n := strings.Count(want, "\n"); n < 2000 {
					return fmt.Sprintf("%d metrics", n)
				}
				return wrong + compare(want, got)
			})
		})
		t.Run(name+"/metadata", func(t *testing.T) { testMetadata(t, host) })
		t.Run(name+"/labels", func(t *testing.T) { testLabels(t, host) })
		t.Run(name+"/values", func(t *testing.T) { testValues(t, host) })
	}
}

func testMetadata(t *testing.T, host string) {
	for _, opts := range []string{"-dm", "-dmtT", "-IMt", "-b1 -T"} {
		pcptest.Persist(t, func() string {
			want, got, wrong := both(t, append([]string{"-h", host}, strings.Fields(opts)...)...)
			if strings.ContainsAny(opts, "tT") {
				// The help for event.flags and event.missed has words of our own.
				want, got = eventMetric.ReplaceAllString(want, ""), eventMetric.ReplaceAllString(got, "")
			}
			return wrong + compare(want, got, opts)
		})
	}
}

// eventMetric is where the last two metrics begin.
var eventMetric = regexp.MustCompile(`(?ms)^\n?event\.(flags|missed)\b.*`)

// testLabels leaves out metrics whose instances come and go.
func testLabels(t *testing.T, host string) {
	all, _, _ := pcptest.Run(t, nil, "", "pminfo", "-h", host)
	names := slices.DeleteFunc(strings.Fields(all), func(name string) bool {
		top, _, _ := strings.Cut(name, ".")
		return top == "proc" || top == "cgroup" || top == "hotproc" || strings.HasPrefix(name, "pmcd.client")
	})
	if len(names) < 1500 {
		t.Errorf("%d metrics to compare labels of", len(names))
	}
	for _, opts := range []string{"-l", "-ds"} {
		args := append([]string{"-h", host, opts}, names...)
		pcptest.Persist(t, func() string {
			before, got, after, wrong := between(t, args...)
			return wrong + compareLabels(opts, blocks(before), blocks(got), blocks(after))
		})
	}
}

func testValues(t *testing.T, host string) {
	for _, opts := range []string{"-f", "-F", "-xb1"} {
		pcptest.Persist(t, func() string {
			before, got, after, wrong := between(t, "-h", host, opts)
			return wrong + compareBlocks(opts, before, got, after)
		})
	}
}

// compareLabels compares metric by metric what does not change from one run of PCP's pminfo to the next.
func compareLabels(opts string, before, got, after map[string]string) (wrong string) {
	steady := 0
	for name, want := range before {
		if want == after[name] {
			steady++
			if got[name] != want {
				wrong += fmt.Sprintf("%s %s (-PCP +ours):\n%s", opts, name, cmp.Diff(want, got[name]))
			}
		}
	}
	if len(got) != len(before) || steady < len(before)*99/100 {
		wrong += fmt.Sprintf("%s: %d metrics, %d of PCP's, of which %d have the same labels twice", opts, len(got), len(before), steady)
	}
	return wrong
}

// compareBlocks compares metric by metric what PCP's pminfo has printed before and after ours did. What those two agree
// on, has to be so in ours, of agents whose values do not tell of who asks, and of what else runs here. Of the others most
// have the same layout, but for those that have instances that come and go with processes.
func compareBlocks(opts, before, got, after string) (wrong string) {
	b, g, a := blocks(before), blocks(got), blocks(after)
	steady, others, alike := 0, 0, 0
	for name, want := range b {
		switch {
		case want != a[name] && ofProcesses.MatchString(name):
		case want != a[name] || !own.MatchString(name) || restless.MatchString(name):
			others++
			if l := layout(g[name]); l == layout(want) || l == layout(a[name]) {
				alike++
			}
		case want != g[name]:
			wrong += fmt.Sprintf("%s %s: (-PCP +ours):\n%s", opts, name, cmp.Diff(want, g[name]))
		default:
			steady++
		}
	}
	for name := range g {
		if _, ok := b[name]; !ok {
			wrong += fmt.Sprintf("%s: %s is ours alone\n", opts, name)
		}
	}
	if alike < others*9/10 {
		wrong += fmt.Sprintf("%s: of %d metrics whose values move, only %d have the layout that PCP's pminfo prints\n", opts, others, alike)
	}
	if steady < 150 {
		wrong += fmt.Sprintf("%s: only %d metrics that others do not touch have the same values twice", opts, steady)
	}
	return wrong
}

// own are metrics whose values do not depend on what else runs here, but for restless ones: those tell of the system or of
// the client, are random, or have so few values that the same one may come twice with another between.
var (
	own         = regexp.MustCompile(`^(sample|simple|trivial|txmon|mmv|hinv)\.`)
	ofProcesses = regexp.MustCompile(`^(proc|hotproc|cgroup)\.`)
	restless    = regexp.MustCompile(`^sample\.(percontext|sysinfo|drift|scramble|mirage|event\.reset|scale_step|magnitude|updown|(dupnames\.two\.)?lights)`)
)

// blocks cuts output with empty lines before each metric into metrics.
func blocks(out string) map[string]string {
	m := map[string]string{}
	for block := range strings.SplitSeq(out, "\n\n") {
		name, _, _ := strings.Cut(strings.TrimPrefix(block, "\n"), "\n")
		m[name] += block
	}
	return m
}

var number = regexp.MustCompile(`-?\d[\d.]*(e[-+]\d+)?`)

// layout is output without its numbers.
func layout(s string) string { return number.ReplaceAllString(s, "N") }
