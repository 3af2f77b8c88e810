package toolcmp

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// debugMasks hide what differs between two runs: addresses, numbers of processes, the datum and
// features of the collector, times of values. The C library's tables of derived metrics of a
// context, its copies of their values, and how it finds their names in an archive, have no
// counterpart. pmWhichContext, pmDestroyContext and pmGetHostName are about the current context,
// which our library does not have.
var debugMasks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`((?:expr node|left=|right=|dump from) *)0x[0-9a-f]+`), "${1}ADDRESS"},
	{regexp.MustCompile(`0x[0-9a-f]{9,}`), "ADDRESS"},
	{regexp.MustCompile(`\(nil\)`), "ADDRESS"},
	{regexp.MustCompile(`datum=-?\d+`), "datum=N"},
	{regexp.MustCompile(`features=\d+`), "features=N"},
	{regexp.MustCompile(`(?m)timestamp: 1[789]\d{8}\.\d{9} [\d:.]+`), "timestamp: NOW"},
	{regexp.MustCompile(`(?m)^pm(WhichContext|DestroyContext|GetHostName).*\n`), ""},
	{regexp.MustCompile(`(?m)^(__dm(opencontext|closecontext|postvalueset)|pmGetChildren\(.*\) no regular children).*\n`), ""},
}

// TestInteropDebug compares what tools print with debug options.
func TestInteropDebug(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmprobe", "pmstore", "pmval", testSuite+"/archives")
	c := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"sample"}})
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
		"pminfo -D value -f" + host + "sample.bin sample.string.hullo sample.string.null sample.double.ten sample.float.bin sample.ulonglong.million sample.aggregate.hullo sample.bad.unknown",
		"pminfo -D value -f" + ok + "sample.bin sample.seconds",
		"pmprobe -D value -v" + host + "sample.bin sample.float.ten",
		"pmval -D value -s 1" + host + "sample.bin",
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
		compareDebug(t, strings.ReplaceAll(line, "HOST", c.Host()), "")
	}
}

// TestInteropDebugFiles compares what tools print of the files of archives that they open: the C
// library does so in the order of the directory, and prints its reads of values, too.
func TestInteropDebugFiles(t *testing.T) {
	pcptest.Need(t, "pminfo", "pmdumplog", "pmlogcheck", "pmlogsummary", testSuite+"/archives")
	fd, keep := regexp.MustCompile(`fd=\d+`), map[string]*regexp.Regexp{
		"log":     regexp.MustCompile(`^__pm(LogOpen: inspect|Fopen|LogChkLabel|LogChangeVol)`),
		"logmeta": regexp.MustCompile(`^(__pmLogLoadMeta|add)`),
	}
	run := func(option, program string, args []string) (lines []string) {
		_, stderr, _ := pcptest.Run(t, nil, "", append([]string{program, "-D", option}, args...)...)
		for line := range strings.SplitSeq(stderr, "\n") {
			if keep[option].MatchString(line) {
				lines = append(lines, fd.ReplaceAllString(line, "fd=N"))
			}
		}
		if option == "log" {
			slices.Sort(lines)
			lines = slices.Compact(lines)
		}
		return lines
	}
	for _, line := range []string{
		"logmeta pminfo -a ARCHIVES/ok-foo sample.bin",
		"logmeta pmdumplog -L ARCHIVES/omnibus_v3",
		"logmeta pmdumplog -L ARCHIVES/omnibus_v2",
		"logmeta pmlogcheck ARCHIVES/ok-foo",
		"logmeta pmlogcheck BAD/badmeta-6",
		"logmeta pmlogsummary ARCHIVES/ok-foo",
		"log pminfo -a ARCHIVES/ok-mv-bar sample.bin",
		"log pminfo -a ARCHIVES/omnibus_v3 sample.bin",
		"log pminfo -a ARCHIVES/20130706 kernel.all.load",
		"log pminfo -a ARCHIVES/multi pmcd.version",
		"log pminfo -a ARCHIVES/20180416.10.00 pmcd.nosuch",
	} {
		args := strings.Fields(strings.NewReplacer("ARCHIVES", testSuite+"/archives", "BAD", testSuite+"/badarchives").Replace(line))
		want, got := run(args[0], pcptest.Tool(t, args[1]), args[2:]), run(args[0], pcptest.Build(t, "./examples/"+args[1]), args[2:])
		if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
			t.Errorf("%s: %d lines (-C +Go):\n%.2000s", line, len(want), diff)
		}
	}
}

// TestInteropDebugResults compares the results that tools print as they receive them, with the
// debug option pdu.
func TestInteropDebugResults(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmprobe")
	c := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"sample"}})
	results := regexp.MustCompile(`(?m)^(__pmResult dump from|pmFetch returns| {2,4}(\d+\.\d+\.\d+ \(|inst \[| ?value )).*\n`)
	for _, line := range []string{
		"pminfo -D pdu -f -h HOST sample.bin sample.string.hullo sample.bad.unknown sample.noinst",
		"pminfo -D pdu,fetch -f -h HOST sample.bin",
		"pmprobe -D pdu -v -h HOST sample.bin sample.float.ten",
	} {
		args := strings.Fields(strings.Replace(line, "HOST", c.Host(), 1))
		run := func(program string) string {
			_, stderr, _ := pcptest.Run(t, nil, "", append([]string{program}, args[1:]...)...)
			for _, m := range debugMasks {
				stderr = m.pattern.ReplaceAllString(stderr, m.with)
			}
			return strings.Join(results.FindAllString(stderr, -1), "")
		}
		want, got := run(pcptest.Tool(t, args[0])), run(pcptest.Build(t, "./examples/"+args[0]))
		if diff := cmp.Diff(want, got); diff != "" || want == "" {
			t.Errorf("%s (-C +Go):\n%s", line, diff)
		}
	}
}

// compareDebug compares what a command prints on its standard error output, with derived metrics of
// a file, if one is named.
func compareDebug(t *testing.T, line, derived string) {
	t.Helper()
	args := strings.Fields(line)
	run := func(program string) string {
		_, stderr, _ := pcptest.Run(t, []string{"PCP_DERIVED_CONFIG=" + derived}, "", append([]string{program}, args[1:]...)...)
		for _, m := range debugMasks {
			stderr = m.pattern.ReplaceAllString(stderr, m.with)
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

// TestInteropDebugDerived compares what tools print of derived metrics.
func TestInteropDebugDerived(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmprobe", "pmval", testSuite+"/archives")
	c := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample"}})
	file := filepath.Join(t.TempDir(), "derived")
	const definitions = `
my.sum = sum(sample.colour) + sample.long.ten
my.deep.inst = sample.colour[red]
my.deep.bad = sample.string.hullo + 1
my.nosuch = nosuch.x * 2
more.tern = sample.long.one == 1 ? sample.long.ten : sample.long.hundred
more.neg = -sample.double.ten
more.not = !sample.long.one
more.def = defined(sample.long.one)
more.const = mkconst(3, type=double, units="Kbyte / sec", semantics=counter)
more.cnt = count(sample.string.hullo)
more.str = scalar(sample.string.hullo)
more.big = sample.ulonglong.million + sample.float.ten
more.and = sample.long.one && sample.long.ten
more.dlt = delta(sample.bin)
more.par = (sample.long.one + 2) * 3
more.match = matchinst(!/bin-[12]/, sample.bin)
more.inst = sample.bin[bin-300]
more.scale = rescale(sample.kbyte_ctr, "Mbyte")
part.left = sample.bin + sample.part_bin
part.right = (sample.part_bin - sample.bin) < sample.part_bin * 2
part.few = sample.bin + matchinst(/[12]00/, sample.bin)
part.none = sample.bin[bin-345]
part.types = sample.longlong.ten
part.float = sample.float.bin
part.double = sample.double.ten / 3
part.unsigned = sample.ulong.ten
part.aggregate = sample.aggregate.hullo
part.unsupported = sample.bad.nosupport
scaled.space = sample.kbyte_ctr + sample.byte_ctr
scaled.time = sample.byte_rate - sample.byte_rate_perhour
scaled.indom = sample.long.one == 1 ? sample.long.ten : sample.bin
tern.type = sample.bin > 400 ? sample.longlong.ten : sample.bin
tern.string = sample.long.one ? sample.bin : sample.lights
tern.space = sample.long.one ? sample.byte_ctr : sample.kbyte_ctr
tern.indom = sample.long.one ? sample.bin : sample.colour
tern.sem = sample.long.one ? sample.seconds : sample.ulong.ten
tern.time = sample.long.one ? sample.byte_rate : sample.byte_rate_perhour
tern.count = sample.long.one ? sample.long.hundred : sample.step
tern.guard = sample.string.hullo ? 1 : 2
`
	// Mistakes that stop the parser at a token of each kind.
	const mistakes = `
good.all = !(a && b) || c <= d - 3 / 2.5 * instant(e) ? matchinst(!/x/, f) : max(g) + min(h) - sum(i)
good.rest = scalar(count(a)) >= delta(b) == anon(PM_TYPE_32) < c > d
bad.string = "abc
bad.inst = a[x
bad.pattern = matchinst(/x
bad.end = a +
bad.dot = a + .
bad.close = )
bad.open = (a
bad.rate = rate(a
bad.type = mkconst(1, type=foo)
bad.units = rescale(a, "foo")
bad.and = a & b
bad.two = a b
bad.plus = + a
bad.regexp = matchinst(/(/, a)
bad.number = avg(3)
bad.word = units
bad.ternary = a ? b
bad.digits = 1.5.2
bad.text = defined(a) ? a[x y\] z] : "s"
bad.const = mkconst(1.5, type=u32)
bad.large = 99999999999
bad.comma = matchinst(/x/ b)
bad.none =
`
	if err := os.WriteFile(file, []byte(definitions), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := file + ".wrong"
	if err := os.WriteFile(wrong, []byte(mistakes), 0o600); err != nil {
		t.Fatal(err)
	}
	const host = " -h HOST "
	for _, line := range []string{
		"pminfo -D derive -df" + host + "my more",
		"pminfo -D derive -tT" + host + "my.sum my.nosuch nosuch.y",
		"pminfo -D derive -f" + host + "511.0.3",
		"pmval -D derive -s 1" + host + "my.sum",
		"pmprobe -D derive -v" + host + "my.sum my.deep",
		"pminfo -D derive,appl1 -f" + host + "my more",
		"pminfo -D derive,appl1 -d" + host + "tern",
		"pminfo -D derive -d" + host + "tern",
		"pminfo -D derive,appl1 -df" + host + "scaled",
		"pminfo -D derive,appl0,appl1 -d" + host + "my more part",
		"pminfo -D derive,appl2 -f" + host + "part",
		"pminfo -D derive,appl2 -f" + host + "more.inst more.tern more.neg more.cnt more.str more.dlt more.match more.par",
	} {
		compareDebug(t, strings.ReplaceAll(line, "HOST", c.Host()), file)
	}
	compareDebug(t, "pminfo -D derive,appl0 -h "+c.Host()+" sample.bin", wrong)
	compareDebug(t, "pminfo -D derive -h "+c.Host()+" sample.bin", wrong)
}
