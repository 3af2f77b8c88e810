package toolcmp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A generator makes up command lines on archives.
type generator struct {
	names []string            // of the archives, or lists of several
	known map[string]*subject // the archives that have been opened
	tools []replayed
	*rand.Rand
	a       *subject // the archive of the line
	derived string   // derivedFile
}

// A replayed is a tool that replays archives, and the arguments after its name.
type replayed struct {
	tool string
	args func(*generator) []string
}

var replayedTools = []replayed{
	{"pmval", (*generator).pmval},
	{"pmval", (*generator).pmval},
	{"pminfo", (*generator).pminfo},
	{"pmprobe", (*generator).pmprobe},
	{"pmclient", (*generator).pmclient},
	{"pmlogsummary", (*generator).pmlogsummary},
	{"pmstat", (*generator).pmstat},
	{"pmiostat", (*generator).pmiostat},
	{"pcp", (*generator).pcp},
}

// derivedFile defines metrics that any archive may lack operands of.
const derivedFile = "testdata/derived/good"

// otherwiseRead are archives, most of them damaged, that the C library reads differently. The test
// leaves them out. See also the test of package pmapi.
var otherwiseRead = []string{
	"procpid-encode2", "960624.08.17", "babylon", "bozo.client", "logsummary-bug", // wrong types in blocks, or none
	"binning", "pcp-mpstat3", "badti", // wrong entries of the index
	"multi-corrupted", "badlog", "badlen-", "truncbin", "20180608.04.23-01", "archive-20150417.131733", "archive-20141125-000009", // damaged records
}

// archiveSets are archives that are read together.
var archiveSets = [][]string{
	{"multi/20150508.11.44", "multi/20150508.11.46", "multi/20150508.11.50", "multi/20150508.11.57"},
	{"multi-xz/20150508.11.57", "multi-xz/20150508.11.44"},
	{"gap", "gap2"}, // overlap
	{"tzchange-10-a", "tzchange-10-b"},
	{"tzchange-11-a", "tzchange-11-b"},
	{"mirage-1", "mirage-2", "mirage-3"},
	{"multi"},
}

// A subject is an archive, with what is needed to make up command lines that make sense. Of one
// that cannot be opened all but the name is made up.
type subject struct {
	name       string
	metrics    []string
	insts      map[string][]string // of a metric
	start, end time.Time
}

func newGenerator(t *testing.T) *generator {
	file, err := filepath.Abs(derivedFile)
	if err != nil {
		t.Fatal(err)
	}
	g := &generator{known: map[string]*subject{}, derived: file}
	for _, name := range archiveNames(t, true) {
		g.names = append(g.names, filepath.Join(testSuite, name))
	}
	for _, set := range archiveSets {
		paths := make([]string, len(set))
		for i, name := range set {
			paths[i] = filepath.Join(testSuite, "archives", name)
		}
		list := strings.Join(paths, ",")
		g.names = append(g.names, list, list, list)
	}
	g.names = slices.DeleteFunc(g.names, func(n string) bool {
		return !strings.Contains(n, *replayOnly) || *replayOnly == "" && slices.ContainsFunc(otherwiseRead, func(o string) bool { return strings.Contains(n, o) })
	})
	for _, r := range replayedTools {
		if *replayTool == "" || r.tool == *replayTool {
			g.tools = append(g.tools, r)
		}
	}
	if len(g.names) == 0 || len(g.tools) == 0 {
		t.Fatal("no archive or no tool to run")
	}
	return g
}

// line is the nth line of a seed.
func (g *generator) line(t *testing.T, seed uint64, n int) Line {
	g.Rand = rand.New(rand.NewPCG(seed, uint64(n)))
	g.a = g.subject(t.Context(), pick(g, g.names))
	r := pick(g, g.tools)
	l := Line{Place: fmt.Sprintf("seed %d, line %d", seed, n), Args: append([]string{r.tool}, r.args(g)...)}
	if g.IntN(12) == 0 {
		l.Env = []string{pick(g, []string{"PCP_COUNTER_WRAP=", "TZ=EST5EDT", "TZ=Asia/Kolkata", "PCP_IGNORE_MARK_RECORDS="})}
	}
	switch python := slices.Contains([]string{"pcp", "pmiostat"}, r.tool); {
	case python:
		l.Env = append(l.Env, "PATH=/usr/bin:/bin")
	case g.IntN(6) == 0:
		l.Env = append(l.Env, "PCP_DERIVED_CONFIG="+pick(g, []string{g.derived, "/var/lib/pcp/config/derived"}))
	}
	l.Text = describe(append(slices.Clip(l.Env), l.Args...))
	return l
}

// subject opens an archive, once.
func (g *generator) subject(ctx context.Context, name string) *subject {
	if a := g.known[name]; a != nil {
		return a
	}
	a := &subject{name: name, metrics: []string{"hinv.ncpu", "sample.bin"}, insts: map[string][]string{}}
	a.start = time.Date(2013, 7, 6, 0, 0, 0, 0, time.UTC)
	a.end = a.start.Add(time.Hour)
	g.known[name] = a
	pc, err := pmapi.Open(ctx, strings.Split(name, ",")...)
	if err != nil {
		return a
	}
	defer pc.Close()
	if names, err := pc.Traverse(ctx, ""); err == nil {
		// PCP's tools crash when they fetch event.flags twice, and interpolate with differences
		// that overflow where counters go back as far as those of sample.wrap.
		names = slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, "event.") || strings.Contains(n, ".wrap.") })
		if len(names) > 0 {
			a.metrics = names
		}
	}
	if l, err := pc.ArchiveLabel(); err == nil {
		a.start, a.end = l.Start, l.Start.Add(time.Minute)
	}
	const longest = 10 * 365 * 24 * time.Hour // of an archive with times that make sense
	if end, err := pc.ArchiveEnd(ctx); err == nil && end.After(a.start) && end.Sub(a.start) < longest {
		a.end = end
	}
	a.findInstances(ctx, pc)
	return a
}

// several reports whether the subject is a list of archives, or a directory of them.
func (a *subject) several() bool {
	return strings.Contains(a.name, ",") || slices.ContainsFunc(archiveSets, func(set []string) bool {
		return len(set) == 1 && a.name == filepath.Join(testSuite, "archives", set[0])
	})
}

func (a *subject) findInstances(ctx context.Context, pc *pmapi.Context) {
	ids, _ := pc.Lookup(ctx, a.metrics)
	descs, _ := pc.Descs(ctx, ids)
	names := map[pdu.InDom][]string{}
	for i, d := range descs {
		if d.PMID == pdu.NoPMID || d.InDom == pdu.NoInDom {
			continue
		}
		if _, ok := names[d.InDom]; !ok {
			insts, _ := pc.InstancesEver(ctx, d.InDom)
			for _, inst := range insts {
				names[d.InDom] = append(names[d.InDom], inst.Name)
			}
		}
		a.insts[a.metrics[i]] = names[d.InDom]
	}
}

// pick returns a random element of a list.
func pick[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

// maybe returns an option in 1/n of cases, and otherwise nothing.
func (g *generator) maybe(n int, args ...string) []string {
	if g.IntN(n) == 0 {
		return args
	}
	return nil
}

// pmval is a command line of pmval.
func (g *generator) pmval() []string {
	metric := pick(g, g.a.metrics)
	args := []string{pick(g, []string{"-a", "-a", "-a", "-U"}), g.a.name}
	args = append(args, g.window()...)
	args = append(args, g.zone()...)
	args = append(args, g.maybe(4, "-r")...)
	args = append(args, g.maybe(8, "-X")...)
	args = append(args, g.maybe(12, "-XX")...)
	args = append(args, g.maybe(8, "-f", fmt.Sprint(g.IntN(4)))...)
	args = append(args, g.maybe(8, "-w", fmt.Sprint(1+g.IntN(25)))...)
	insts := g.a.insts[metric]
	if len(insts) > 20 || len(insts) > 0 && g.IntN(3) == 0 {
		list := ""
		for range 1 + g.IntN(3) {
			list += fmt.Sprintf(",'%s'", pick(g, insts))
		}
		args = append(args, "-i", list[1:])
	}
	return append(args, metric)
}

// window is options of a time window, with an interval that makes some dozens of samples of it.
func (g *generator) window() []string {
	span := g.a.end.Sub(g.a.start)
	step := max(time.Millisecond, time.Duration(g.Int64N(int64(span)/2+1)))
	if g.IntN(4) > 0 {
		step = max(time.Millisecond, span/time.Duration(10+g.IntN(60)))
	}
	if step > time.Second && g.IntN(2) == 0 {
		step = step.Truncate(time.Second)
	}
	args := []string{"-t", interval(step)}
	if g.IntN(4) > 0 {
		args = append(args, g.maybe(2, "-S", g.point())...)
	} else {
		args = append(args, g.origin(1)...)
	}
	args = append(args, g.maybe(3, "-T", g.point())...)
	args = append(args, g.maybe(6, "-A", pick(g, []string{"1sec", "10sec", "1min", "5min", "1hour", "0.3sec", interval(step)}))...)
	return append(args, g.maybe(3, "-s", fmt.Sprint(g.IntN(40)))...)
}

func interval(d time.Duration) string {
	return fmt.Sprintf("%gsec", d.Round(time.Microsecond).Seconds())
}

// point is a point of time, most often in the archive.
func (g *generator) point() string {
	span := g.a.end.Sub(g.a.start)
	d := time.Duration(g.Int64N(int64(span)*9/8 + 1)).Truncate(time.Millisecond)
	at := g.a.start.Add(d)
	switch g.IntN(6) {
	case 0:
		return "-" + interval(d)
	case 1:
		return "@" + at.UTC().Format(time.ANSIC)
	case 2:
		return "@" + at.UTC().Format("15:04:05.000")
	case 3:
		return "+" + interval(d)
	}
	return interval(d)
}

// origin is -O in one of n cases, with a time before the end: at an entry of the index, which there
// is at the end, PCP leaves out a record.
func (g *generator) origin(n int) []string {
	span := int64(g.a.end.Sub(g.a.start))
	d := time.Duration(g.Int64N(span + 1)).Truncate(time.Millisecond)
	return g.maybe(n, "-O", pick(g, []string{"", "+"})+interval(d))
}

func (g *generator) zone() []string {
	switch g.IntN(6) {
	case 0:
		return []string{"-z"}
	case 1:
		return []string{"-Z", pick(g, []string{"UTC", "EST5EDT", "CET-1CEST,M3.5.0,M10.5.0/3", "Europe/Berlin", "Australia/Melbourne", "IST-5:30"})}
	}
	return nil
}

// some are names of metrics, of parts of the name space, and now and then of nothing.
func (g *generator) some() (names []string) {
	for range 1 + g.IntN(4) {
		name := pick(g, g.a.metrics)
		if i := strings.LastIndexByte(name, '.'); i > 0 && g.IntN(3) == 0 {
			name = name[:i]
		}
		if g.IntN(20) == 0 {
			name = pick(g, []string{"nosuch", "sample.nosuch", name + ".x", "60.2"})
		}
		names = append(names, name)
	}
	return names
}

// pminfo is a command line of pminfo.
func (g *generator) pminfo() []string {
	names := g.some()
	args := []string{"-a", g.a.name}
	if g.IntN(4) > 0 {
		args = append(args, "-f")
	}
	for _, l := range []string{"-F", "-d", "-m", "-M", "-I", "-l", "-s", "-x", "-v", "-t", "-T"} {
		args = append(args, g.maybe(7, l)...)
	}
	args = append(args, g.origin(2)...)
	args = append(args, g.zone()...)
	args = append(args, g.maybe(12, "-b", fmt.Sprint(1+g.IntN(9)))...)
	return append(args, names...)
}

// pmprobe is a command line of pmprobe.
func (g *generator) pmprobe() []string {
	args := []string{"-a", g.a.name}
	args = append(args, pick(g, [][]string{{}, {"-v"}, {"-v"}, {"-i"}, {"-I"}, {"-iI"}, {"-f", "-I"}, {"-f", "-i"}, {"-f"}})...)
	names := g.some()
	if g.IntN(8) == 0 {
		args, names = append(args, "-F"), []string{pick(g, g.a.metrics), pick(g, g.a.metrics)}
	}
	args = append(args, g.origin(2)...)
	args = append(args, g.zone()...)
	args = append(args, g.maybe(12, "-b", fmt.Sprint(1+g.IntN(9)))...)
	return append(args, names...)
}

// pmlogsummary is a command line of pmlogsummary.
func (g *generator) pmlogsummary() []string {
	var args []string
	for _, o := range []string{"-a", "-b", "-f", "-F", "-i", "-I", "-l", "-m", "-M", "-N", "-s", "-v", "-x", "-y"} {
		args = append(args, g.maybe(6, o)...)
	}
	args = append(args, g.maybe(8, "-B", fmt.Sprint(1+g.IntN(6)))...)
	args = append(args, g.maybe(8, "-p", fmt.Sprint(g.IntN(6)))...)
	if label := slices.Contains(args, "-a") || slices.Contains(args, "-l"); !label || !g.a.several() {
		// With the label of several archives PCP's tool reads that with the start of the window
		// from its own start.
		args = append(args, g.maybe(3, "-S", g.point())...)
	}
	args = append(args, g.maybe(3, "-T", g.point())...)
	args = append(args, g.zone()...)
	args = append(args, g.a.name)
	if g.IntN(3) > 0 {
		args = append(args, g.some()...)
	}
	return args
}

// pmclient is a command line of pmclient.
func (g *generator) pmclient() []string {
	args := append([]string{"-a", g.a.name}, g.window()...)
	return append(args, g.zone()...)
}

// pmstat is a command line of pmstat. There are always as many samples as -s says, since PCP's tool
// goes on for ever where an archive lacks the metrics. The column of guests, which -x adds, is
// newer than PCP 6.
func (g *generator) pmstat() []string {
	args := []string{"-a", g.a.name, "-t", interval(g.step()), "-s", fmt.Sprint(1 + g.IntN(30))}
	args = append(args, g.maybe(2, "-S", g.point())...)
	args = append(args, g.maybe(4, "-l")...)
	args = append(args, g.maybe(6, "-A", pick(g, []string{"1sec", "10sec", "1min"}))...)
	return append(args, g.zone()...)
}

// step returns an interval that gives an archive some dozens of samples.
func (g *generator) step() time.Duration {
	return max(time.Millisecond, g.a.end.Sub(g.a.start)/time.Duration(10+g.IntN(60)))
}

// pmiostat is a command line of pmiostat.
func (g *generator) pmiostat() []string {
	args := []string{"-a", g.a.name}
	if g.IntN(5) == 0 {
		args = append(args, "-u")
	} else {
		args = append(args, "-t", interval(g.step()))
	}
	args = append(args, g.maybe(2, "-S", g.point())...)
	args = append(args, g.maybe(2, "-s", fmt.Sprint(1+g.IntN(60)))...)
	args = append(args, g.maybe(3, "-T", g.point())...)
	args = append(args, g.maybe(4, "-P", fmt.Sprint(g.IntN(11)))...)
	args = append(args, g.maybe(4, "-R", pick(g, []string{"sd", "a$", "[0-9]", "."}))...)
	args = append(args, g.maybe(5, "-G", pick(g, []string{"sum", "avg", "min", "max"}))...)
	args = append(args, g.maybe(2, "-x", pick(g, []string{"t", "t,h", "noidle", "dm", "dm,t", "t noidle"}))...)
	return append(args, g.zone()...)
}

// lostInstances are archives that make PCP's pcp lose the instances of a metric.
var lostInstances = []string{"20150105.17.57-00", "20190628.04.03", "540117-short", "all-irix-6.5.25", "naslog", "oview-short"}

// pcp is a command line of pcp, of a summary.
func (g *generator) pcp() []string {
	if slices.ContainsFunc(lostInstances, func(name string) bool { return strings.HasSuffix(g.a.name, name) }) {
		return []string{"-a", testSuite + "/archives/pcp-zeroconf"}
	}
	args := append([]string{"-a", g.a.name}, g.origin(2)...)
	args = append(args, g.maybe(4, "-P")...)
	return append(args, g.zone()...)
}
