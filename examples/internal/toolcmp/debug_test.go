package toolcmp

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// debugMasks hide what differs between two runs: addresses, numbers of processes, the datum and features of the collector, times
// of values. pmWhichContext, pmDestroyContext and pmGetHostName
// are about the current context, which our library does not have.
var debugMasks = []struct{ pattern, with string }{
	{`0x[0-9a-f]{9,}`, "ADDRESS"},
	{`\(nil\)`, "ADDRESS"},
	{`datum=-?\d+`, "datum=N"},
	{`features=\d+`, "features=N"},
	{`(?m)timestamp: 1[789]\d{8}\.\d{9} [\d:.]+`, "timestamp: NOW"},
	{`(?m)^pm(WhichContext|DestroyContext|GetHostName).*\n`, ""},
}

// TestInteropDebug compares what tools print with debug options.
func TestInteropDebug(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmprobe", "pmstore", "pmval", testSuite+"/archives")
	c := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"sample"}})
	masks := make([]*regexp.Regexp, len(debugMasks))
	for i, m := range debugMasks {
		masks[i] = regexp.MustCompile(m.pattern)
	}
	const host, ok, v3 = " -h HOST ", " -a ARCHIVES/ok-foo ", " -a ARCHIVES/omnibus_v3 "
	for _, line := range []string{
		"pminfo -D context -f" + host + "sample.bin",
		"pminfo -D context -f" + ok + "sample.bin",
		"pminfo -D context -f" + v3 + "sample.bin",
		"pminfo -D context -f -a /nonexistent sample.bin",
		"pminfo -D context -f -h localhost:1 sample.bin",
		"pminfo -D profile,fetch -f" + host + "sample.bin sample.string.hullo sample.bad.unknown sample.bogus_bin",
		"pminfo -D fetch -f" + host + "sample.aggregate.hullo sample.double.ten sample.float.ten sample.noinst sample.needprofile",
		"pminfo -D fetch -f" + ok + "sample.bin sample.seconds",
		"pminfo -D pmns -f" + host + "sample.bin sample.string.hullo",
		"pminfo -D pmns -f" + host + "sample.dodgey nosuch.x",
		"pminfo -D pmns -m" + host + "29.0.10",
		"pminfo -D indom -f" + host + "sample.bin sample.bogus_bin",
		"pminfo -D attr,auth -d" + host + "sample.bin",
		"pmval -D indom -s 1" + host + "sample.bin",
		"pmval -D fetch -s 1" + ok + "sample.seconds",
		"pmprobe -D fetch,indom -v" + host + "sample.bin",
		"pmprobe -D pmns -v" + host + "sample.bin nosuch.name",
		"pmprobe -D indom -I" + host + "sample.bin",
		"pmstore -D fetch,pmns" + host + "sample.long.one 1",
	} {
		args := strings.Fields(strings.NewReplacer("HOST", c.Host(), "ARCHIVES", testSuite+"/archives").Replace(line))
		run := func(program string) string {
			_, stderr, _ := pcptest.Run(t, []string{"PCP_DERIVED_CONFIG="}, "", append([]string{program}, args[1:]...)...)
			for i, m := range masks {
				stderr = m.ReplaceAllString(stderr, debugMasks[i].with)
			}
			return stderr
		}
		want, got := run(pcptest.Tool(t, args[0])), run(pcptest.Build(t, "./examples/"+args[0]))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-C +Go):\n%s", line, diff)
		}
		if want == "" && !strings.Contains(line, "attr") {
			t.Errorf("%s: C prints nothing", line)
		}
	}
}
