package pmdalinux_test

import (
	"bytes"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
)

// A fetcher fetches all metrics of an agent on a tree, without a collector.
type fetcher struct {
	t     testing.TB
	names []string
	ids   []pdu.PMID
}

func newFetcher(t testing.TB, names []string, from agentClient) *fetcher {
	t.Helper()
	ids, err := from.Lookup(t.Context(), names)
	if err != nil {
		t.Fatal(err)
	}
	return &fetcher{t, names, ids}
}

// fetch fetches from a new agent. A panic of the agent fails the test, even if the agent recovers
// from it.
func (f *fetcher) fetch(root string) *pmda.Agent {
	f.t.Helper()
	a, err := pmdalinux.New(pmdalinux.Options{Root: root})
	if err != nil {
		f.t.Fatal(err)
	}
	var log bytes.Buffer
	a.Logger = slog.New(slog.NewTextHandler(&log, nil))
	var w pdu.ResultWriter
	if err := a.Fetch(f.t.Context(), &pmda.Request{Client: &pmda.Client{}, Profile: new(pdu.Profile)}, f.ids, &w); err != nil {
		f.t.Fatal(err)
	}
	if !w.HasSets(f.ids) {
		f.t.Fatalf("the result has %d sets, not one for each of %d metrics", w.Len(), len(f.ids))
	}
	if s := log.String(); strings.Contains(s, "panic") {
		f.t.Fatal(s)
	}
	return a
}

// agentMetrics returns the names of all metrics of the agent.
func agentMetrics(t testing.TB, our agentClient) []string {
	t.Helper()
	names, err := our.Traverse(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, "pmcd.") })
}

// recordMachine copies the files that the agent reads on this machine: those open after a fetch.
func recordMachine(t testing.TB) files {
	t.Helper()
	our := ourAgent(t, "/")
	a := newFetcher(t, agentMetrics(t, our), our).fetch("/")
	defer runtime.KeepAlive(a)
	tree := files{}
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	self := fmt.Sprintf("/proc/%d/", os.Getpid())
	for _, fd := range fds {
		path, err := os.Readlink(fd)
		if err != nil || !strings.HasPrefix(path, "/proc/") && !strings.HasPrefix(path, "/sys/") || strings.HasPrefix(path, "/sys/fs/cgroup/") {
			continue // files that the Go runtime reads
		}
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if rest, ok := strings.CutPrefix(path, self+"net/"); ok {
			path = "/proc/net/" + rest
		} else if rest, ok := strings.CutPrefix(path, self); ok {
			path = "/proc/self/" + rest
		}
		tree[path[1:]] = string(text)
	}
	if len(tree) < 3 {
		t.Skip("the agent reads nothing here")
	}
	addLinks(tree)
	// The processors of nodes are directory entries.
	cpus, _ := filepath.Glob("/sys/devices/system/node/node[0-9]*/cpu[0-9]*")
	for _, path := range cpus {
		tree[path[1:]+"/"] = ""
	}
	return tree
}

// addLinks adds the links in /sys that lead to recorded files.
func addLinks(tree files) {
	all, _ := filepath.Glob("/sys/class/*/*")
	disks, _ := filepath.Glob("/sys/block/*")
	for _, path := range append(all, disks...) {
		target, err1 := os.Readlink(path)
		real, err2 := filepath.EvalSymlinks(path)
		if err1 != nil || err2 != nil {
			continue
		}
		for name := range tree {
			if strings.HasPrefix("/"+name, real+"/") {
				tree[path[1:]] = "->" + target
				break
			}
		}
	}
}

// addDevices adds devices to a recorded tree that this machine may not have.
func addDevices(tree files) {
	for name, text := range map[string]string{
		"proc/scsi/scsi":             "Attached devices:\nHost: scsi99 Channel: 00 Id: 00 Lun: 00\n  Vendor: ATA Model: x Rev: y\n  Type:   Direct-Access ANSI SCSI revision: 05\n",
		"proc/diskstats":             tree["proc/diskstats"] + " 8 99 sdzz" + fifteen + " 253 99 dm-99" + fifteen + " 9 99 md99" + eleven + " 8 99 sdzz1 1 2 3 4\n 252 99 zram99" + eleven,
		"proc/self/mounts":           tree["proc/self/mounts"] + "/dev/sdzz1 / ext4 rw,relatime 0 0\ntmpfs /run tmpfs rw 0 0\n",
		"sys/block/dm-99/dm/name":    "vg-root\n",
		"sys/block/sdzz/device/wwid": "naa.5000c5\n",
		"sys/block/zram99/mm_stat":   "1 2 3 4 5 6 7 8\n",

		"proc/tty/driver/serial":                      goodPorts,
		"proc/slabinfo":                               goodSlabs["2.1"],
		"sys/block/md99/md/array_state":               "active\n",
		"sys/block/md99/md/level":                     "raid10\n",
		"sys/block/md99/md/raid_disks":                "4\n",
		"sys/block/md99/md/layout":                    "258\n",
		"sys/block/md99/md/degraded":                  "2\n",
		"sys/block/md99/md/rd0/state":                 "in_sync\n",
		"sys/block/md99/md/rd2/state":                 "in_sync\n",
		"sys/class/fc_host/host9/statistics/tx_words": "0x39ce\n",
		"sys/class/scsi_tape/st9/stats/read_cnt":      "7",
		"sys/kernel/debug/extfrag/unusable_index":     "Node 0, zone   Normal 0.001 0.003 0.007 0.015 0.033 0.068 0.131 0.238 0.408 0.618 0.837 \n",
	} {
		tree[name] = text
	}
	maps.Copy(tree, nfsFiles["2.6.32"])
}

// regularFiles returns the sorted names of the files of a tree, without links.
func (f files) regularFiles() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(f)), func(n string) bool {
		return strings.HasPrefix(f[n], "->") || strings.HasSuffix(n, "/")
	})
}

var numbers = regexp.MustCompile(`(?m)(^|[ \t])[0-9]+($|[ \t])`)

// damages are ways to damage a text.
var damages = []struct {
	name string
	do   func(text string) string
}{
	{"empty", func(string) string { return "" }},
	{"cut after a quarter", func(s string) string { return cut(s, len(s)/4) }},
	{"cut in the middle", func(s string) string { return cut(s, len(s)/2) }},
	{"cut after three quarters", func(s string) string { return cut(s, len(s)*3/4) }},
	{"cut before the last character", func(s string) string { return cut(s, len(s)-2) }},
	{"huge numbers", func(s string) string { return replaceNumbers(s, "99999999999999999999999") }},
	{"negative numbers", func(s string) string { return replaceNumbers(s, "-7") }},
	{"words", func(s string) string { return replaceNumbers(s, "seven") }},
	{"NULs for numbers", func(s string) string { return replaceNumbers(s, "\x00") }},
	{"only NULs", func(s string) string { return strings.Repeat("\x00", len(s)) }},
	{"one long line", func(s string) string { return strings.ReplaceAll(s, "\n", " ") + strings.Repeat("x", 100_000) }},
	{latin, func(string) string { return "Lorem ipsum dolor sit amet\nconsetetur 1 2 sadipscing\n" }},
}

const latin = "Latin"

// nameFiles matches files that contain a name: another name is no damage.
var nameFiles = regexp.MustCompile(`/(wwid|dm/name)$`)

// cut truncates a text, but not at the end of a line, where the text would be valid.
func cut(s string, at int) string {
	for at = max(at, 0); at > 0 && s[at-1] == '\n'; {
		at--
	}
	return s[:at]
}

// replaceNumbers replaces all numbers of a text.
func replaceNumbers(s, by string) string {
	for range 2 { // neighbours share a blank
		s = numbers.ReplaceAllString(s, "${1}"+by+"${2}")
	}
	return s
}

// listsMayEnd matches metrics that count or add up the lines of a file: an empty file is no damage.
var listsMayEnd = regexp.MustCompile(`^(vfs\.locks\.|disk\.all\.|hinv\.ndisk$|hinv\.nfilesys$)`)

// anyText matches metrics that accept other text. Some are numbers on one architecture and words on
// others, some depend on the presence of one word. A truncated list of addresses ends with another
// address.
var anyText = regexp.MustCompile(`^(hinv\.cpu\.(model|stepping)|network\.interface\.(running|ipv6_addr|ipv6_scope))$`)

var allDamages = flag.Bool("all", false, "damage each file in all ways, which takes half a minute")

// oneDamageOf is N if the usual test makes every Nth damage, counted over all files.
const oneDamageOf = 40

// TestDamagedFiles damages each file that the agent reads. All values must be those of undamaged
// fields, or missing.
func TestDamagedFiles(t *testing.T) {
	tree := recordMachine(t)
	addDevices(tree)
	root := tree.write(t)
	our := ourAgent(t, root)
	names := slices.DeleteFunc(agentMetrics(t, our), ofSystem)
	good := our.snapshot(names)
	ways, checks := 0, 0
	skip := func() bool {
		ways++
		return !*allDamages && ways%oneDamageOf != 0
	}
	check := func(t *testing.T, what string, unexpected func(snapshot) []string) {
		t.Run(what, func(t *testing.T) { // its agent ends with the subtest
			for _, w := range unexpected(ourAgent(t, root).snapshot(names)) {
				t.Error(w)
			}
		})
		if checks++; checks%8 == 0 {
			runtime.GC() // closes the files of agents
		}
	}
	seen := map[string]bool{}
	for _, name := range tree.regularFiles() {
		if file := filepath.Base(name); strings.Contains(name, "/net/") && strings.HasPrefix(name, "sys/") {
			if seen[file] {
				continue // one interface is enough
			}
			seen[file] = true
		}
		path := filepath.Join(root, name)
		for _, d := range damages {
			bad := d.do(tree[name])
			if d.name == latin && nameFiles.MatchString(name) {
				continue
			}
			if skip() {
				continue
			}
			write(t, root, name, bad)
			check(t, name+", "+d.name, func(now snapshot) []string { return unexpectedValues(good, now, bad == "") })
		}
		write(t, root, name, tree[name])
		if skip() {
			continue
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(path, 0o777); err != nil {
			t.Fatal(err)
		}
		check(t, name+", a directory", func(now snapshot) []string { return unexpectedValues(good, now, false) })
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		write(t, root, name, tree[name])
	}
}

// unexpectedValues lists the values of now that good does not have. It compares instances by name
// because the IDs depend on the existing instances.
func unexpectedValues(good, now snapshot, empty bool) []string {
	var list []string
	for name, values := range now.values {
		if anyText.MatchString(name) {
			continue
		}
		known := map[string]string{}
		for inst, v := range good.values[name] {
			known[instName(inst)] = text(v)
		}
		for inst, v := range values {
			if want, ok := known[instName(inst)]; text(v) == "unknown" || ok && want == text(v) || empty && text(v) == "0" && listsMayEnd.MatchString(name) {
				continue
			}
			list = append(list, fmt.Sprintf("%s[%s] is %.100s, want %.100s", name, inst, text(v), known[instName(inst)]))
		}
	}
	slices.Sort(list)
	return list
}

// instName returns the quoted name of an instance of a snapshot.
func instName(inst string) string {
	_, name, _ := strings.Cut(inst, " ")
	return name
}

// FuzzTree gives the agent any text in any of its files. Nothing may panic, all metrics must have a
// value or an error, and memory use must be proportional to the text.
func FuzzTree(f *testing.F) {
	tree := recordMachine(f)
	addDevices(tree)
	names := tree.regularFiles()
	for i, name := range names {
		f.Add(uint16(i), []byte(tree[name]))
		f.Add(uint16(i), []byte(replaceNumbers(tree[name], "99999999999999999999999")))
	}
	root := tree.write(f)
	our := ourAgent(f, root)
	metrics := agentMetrics(f, our)
	f.Fuzz(func(t *testing.T, i uint16, text []byte) {
		name := names[int(i)%len(names)]
		write(t, root, name, string(text))
		defer write(t, root, name, tree[name])
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		newFetcher(t, metrics, our).fetch(root)
		runtime.ReadMemStats(&after)
		if used, limit := after.TotalAlloc-before.TotalAlloc, uint64(16<<20+1000*len(text)); used > limit {
			t.Errorf("%d bytes were allocated for a text of %d", used, len(text))
		}
	})
}
