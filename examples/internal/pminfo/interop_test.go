package pminfo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// agents are the shipped agents that start on every computer.
var agents = []string{"pmcd", "proc", "linux", "mmv", "sample", "simple", "trivial", "txmon"}

// startCollectors starts a C pmcd and ours with the same agents, and returns their hosts.
func startCollectors(t *testing.T) map[string]string {
	pcptest.Need(t, "pmcd", "pminfo")
	c := pcptest.StartPMCD(t, pcptest.Config{Shipped: agents})
	ours := pcptest.StartPMCD(t, pcptest.Config{Program: pcptest.Build(t, "./examples/pmcd"), Shipped: agents})
	return map[string]string{"C pmcd": c.Host(), "Go pmcd": ours.Host()}
}

// runBoth runs PCP's pminfo and ours and returns what they print; difference says whether their
// exit status or standard error differs.
func runBoth(t *testing.T, args ...string) (want, got, difference string) {
	t.Helper()
	want, wantErrs, wantStatus := pcptest.Run(t, nil, "", append([]string{"pminfo"}, args...)...)
	got, gotErrs, gotStatus := pcptest.Run(t, nil, "", append([]string{pcptest.Build(t, "./examples/pminfo")}, args...)...)
	if wantErrs != gotErrs || wantStatus != gotStatus {
		difference = fmt.Sprintf("pminfo %s: status %d, standard error %q, want %d, %q\n", args[:3], gotStatus, gotErrs, wantStatus, wantErrs)
	}
	return want, got, difference
}

// runAround is runBoth, and runs PCP's pminfo once more after ours: what differs between before and
// after has changed meanwhile.
func runAround(t *testing.T, args ...string) (before, got, after, difference string) {
	t.Helper()
	before, got, difference = runBoth(t, args...)
	after, _, _ = pcptest.Run(t, nil, "", append([]string{"pminfo"}, args...)...)
	return before, got, after, difference
}

// compare returns how two outputs differ, from the first line that does.
func compare(want, got string, args ...string) (difference string) {
	if want == got {
		return ""
	}
	w, g := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	n := 0
	for n < len(w) && n < len(g) && w[n] == g[n] {
		n++
	}
	excerpt := func(lines []string) []string { return lines[n:min(n+20, len(lines))] }
	return fmt.Sprintf("pminfo %s: %d lines, %d of PCP's; from line %d on (-PCP +ours):\n%s", args, len(g), len(w), n+1, cmp.Diff(excerpt(w), excerpt(g)))
}

// TestAllMetrics compares what PCP's pminfo and ours print of all metrics.
func TestAllMetrics(t *testing.T) {
	for name, host := range startCollectors(t) {
		t.Run(name+"/names", func(t *testing.T) {
			pcptest.Retry(t, func() string {
				want, got, difference := runBoth(t, "-h", host)
				if n := strings.Count(want, "\n"); n < 2000 {
					return fmt.Sprintf("%d metrics", n)
				}
				return difference + compare(want, got)
			})
		})
		t.Run(name+"/metadata", func(t *testing.T) { testMetadata(t, host) })
		t.Run(name+"/labels", func(t *testing.T) { testLabels(t, host) })
		t.Run(name+"/values", func(t *testing.T) { testValues(t, host) })
	}
}

func testMetadata(t *testing.T, host string) {
	for _, opts := range []string{"-dm", "-dmtT", "-IMt", "-b1 -T"} {
		pcptest.Retry(t, func() string {
			want, got, difference := runBoth(t, append([]string{"-h", host}, strings.Fields(opts)...)...)
			if strings.ContainsAny(opts, "tT") {
				// The help texts of event.flags and event.missed are our own.
				want, got = eventMetric.ReplaceAllString(want, ""), eventMetric.ReplaceAllString(got, "")
			}
			return difference + compare(want, got, opts)
		})
	}
}

// eventMetric matches the last two metrics of the output.
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
		pcptest.Retry(t, func() string {
			before, got, after, difference := runAround(t, args...)
			return difference + compareLabels(opts, splitBlocks(before), splitBlocks(got), splitBlocks(after))
		})
	}
}

func testValues(t *testing.T, host string) {
	for _, opts := range []string{"-f", "-F", "-xb1"} {
		pcptest.Retry(t, func() string {
			before, got, after, difference := runAround(t, "-h", host, opts)
			return difference + compareBlocks(opts, before, got, after)
		})
	}
}

// compareLabels compares the labels of the metrics that have the same in both runs of PCP's pminfo.
func compareLabels(opts string, before, got, after map[string]string) (difference string) {
	steady := 0
	for name, want := range before {
		if want == after[name] {
			steady++
			if got[name] != want {
				difference += fmt.Sprintf("%s %s (-PCP +ours):\n%s", opts, name, cmp.Diff(want, got[name]))
			}
		}
	}
	if len(got) != len(before) || steady < len(before)*99/100 {
		difference += fmt.Sprintf("%s: %d metrics, %d of PCP's, of which %d have the same labels twice", opts, len(got), len(before), steady)
	}
	return difference
}

// compareBlocks compares what is printed of each metric with what PCP's pminfo has printed before
// and after. If that is the same in both, ours has to be too, for agents whose values depend
// neither on the client nor on what else runs here. Most other metrics have the same layout, but
// for those whose instances come and go with processes.
func compareBlocks(opts, before, got, after string) (difference string) {
	b, g, a := splitBlocks(before), splitBlocks(got), splitBlocks(after)
	steady, others, alike := 0, 0, 0
	for name, want := range b {
		switch {
		case want != a[name] && processMetrics.MatchString(name):
		case want != a[name] || !steadyAgents.MatchString(name) || unsteady.MatchString(name):
			others++
			if l := layout(g[name]); l == layout(want) || l == layout(a[name]) {
				alike++
			}
		case want != g[name]:
			difference += fmt.Sprintf("%s %s: (-PCP +ours):\n%s", opts, name, cmp.Diff(want, g[name]))
		default:
			steady++
		}
	}
	for name := range g {
		if _, ok := b[name]; !ok {
			difference += fmt.Sprintf("%s: %s is ours alone\n", opts, name)
		}
	}
	if alike < others*9/10 {
		difference += fmt.Sprintf("%s: of %d metrics whose values move, only %d have the layout that PCP's pminfo prints\n", opts, others, alike)
	}
	if steady < 150 {
		difference += fmt.Sprintf("%s: only %d metrics that others do not touch have the same values twice", opts, steady)
	}
	return difference
}

// steadyAgents matches the metrics of agents whose values do not depend on what else runs here.
// unsteady matches those of them that do, that depend on the client, that are random, or that have
// so few values that the same one may come before and after another.
var (
	steadyAgents   = regexp.MustCompile(`^(sample|simple|trivial|txmon|mmv|hinv)\.`)
	processMetrics = regexp.MustCompile(`^(proc|hotproc|cgroup)\.`)
	unsteady       = regexp.MustCompile(`^sample\.(percontext|sysinfo|drift|scramble|mirage|event\.reset|scale_step|magnitude|updown|(dupnames\.two\.)?lights)`)
)

// splitBlocks splits output with an empty line before each metric into what is printed of each.
func splitBlocks(out string) map[string]string {
	m := map[string]string{}
	for block := range strings.SplitSeq(out, "\n\n") {
		name, _, _ := strings.Cut(strings.TrimPrefix(block, "\n"), "\n")
		m[name] += block
	}
	return m
}

var number = regexp.MustCompile(`-?\d[\d.]*(e[-+]\d+)?`)

// layout replaces the numbers in output.
func layout(s string) string { return number.ReplaceAllString(s, "N") }
