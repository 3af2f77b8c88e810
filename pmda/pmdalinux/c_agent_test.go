package pmdalinux_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
)

// An agentClient is a client of a collector with one of the two agents that are compared.
type agentClient struct {
	*pmapi.Context
	t testing.TB
}

// ourAgent starts this package's agent on a root directory. A panic of the agent fails the test,
// even if the agent recovers from it.
func ourAgent(t testing.TB, root string) agentClient {
	t.Helper()
	return startAgent(t, pmdalinux.Options{Root: root, Trusts: trustEverybody})
}

// patientDialer waits long enough for the files of a large machine on a busy one.
var patientDialer = pmapi.Dialer{ConnectTimeout: time.Minute, RequestTimeout: time.Minute}

// trustEverybody is an Options.Trusts that trusts all clients.
func trustEverybody(*pmda.Client) bool { return true }

// startAgent starts this package's agent with options.
func startAgent(t testing.TB, o pmdalinux.Options) agentClient {
	t.Helper()
	a, err := pmdalinux.New(o)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	a.Logger = slog.New(slog.NewTextHandler(&log, nil))
	t.Cleanup(func() {
		if s := log.String(); strings.Contains(s, "panic") {
			t.Error(s)
		}
	})
	s := &collector.Server{Timeout: patientDialer.RequestTimeout}
	if err := s.Add(a); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	c, err := patientDialer.Local(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return agentClient{c, t}
}

// cAgent starts the C agent on a root directory, with a C pmcd.
func cAgent(t testing.TB, root string, env ...string) agentClient {
	t.Helper()
	if root != "" {
		env = append(env, "LINUX_STATSPATH="+root)
	}
	// The directory has no instance IDs of other tests. LINUX_ACCESS disables access checks.
	env = append([]string{"PCP_VAR_DIR=" + t.TempDir(), "LINUX_ACCESS=1"}, env...)
	p := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"linux"}, Env: env})
	c, err := patientDialer.Dial(t.Context(), p.Host())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return agentClient{c, t}
}

// A snapshot is the values of some metrics at one time.
type snapshot struct {
	descs  map[string]pdu.Desc
	errors map[string]pdu.Error
	values map[string]map[string]pdu.Atom // by metric and instance
	insts  map[string]string              // the instances, in the order of the values
}

// snapshot fetches metrics.
func (s agentClient) snapshot(names []string) snapshot {
	s.t.Helper()
	ctx := s.t.Context()
	p := snapshot{descs: map[string]pdu.Desc{}, errors: map[string]pdu.Error{}, values: map[string]map[string]pdu.Atom{}, insts: map[string]string{}}
	ids, err := s.Lookup(ctx, names)
	if err != nil && len(ids) != len(names) {
		s.t.Fatal(err)
	}
	descs, err := s.Descs(ctx, ids)
	if err != nil && len(descs) != len(ids) {
		s.t.Fatal(err)
	}
	indoms := map[pdu.InDom]map[pdu.InstID]string{}
	for i, name := range names {
		p.descs[name] = descs[i]
	}
	// The C agent fails a whole fetch with metrics of netstat if it lacks that file.
	const netstat = 53
	for from, to := 0, 0; from < len(ids); from = to {
		for to = from; to < len(ids) && (ids[to].Cluster() == netstat) == (ids[from].Cluster() == netstat); to++ {
		}
		s.fetch(p, names[from:to], ids[from:to], descs[from:to], indoms)
	}
	return p
}

// fetch adds the values of metrics to a snapshot.
func (s agentClient) fetch(p snapshot, names []string, ids []pdu.PMID, descs []pdu.Desc, indoms map[pdu.InDom]map[pdu.InstID]string) {
	s.t.Helper()
	ctx := s.t.Context()
	var r pdu.Result
	if err := s.Fetch(ctx, ids, &r); err != nil {
		s.t.Fatal(err)
	}
	for i, set := range r.All() {
		d, name := descs[i], names[i]
		if err := set.Err(); err != nil {
			p.errors[name] = pdu.FromError(err)
			continue
		}
		p.values[name] = map[string]pdu.Atom{}
		var order []string
		for id, a := range set.All(d.Type) {
			at := ""
			if d.InDom != pdu.NoInDom {
				at = s.instance(ctx, indoms, d.InDom, id)
			}
			order = append(order, at)
			p.values[name][at] = a
		}
		p.insts[name] = strings.Join(order, "\n")
	}
}

// instance returns the ID and the name of an instance.
func (s agentClient) instance(ctx context.Context, known map[pdu.InDom]map[pdu.InstID]string, d pdu.InDom, id pdu.InstID) string {
	if known[d] == nil {
		known[d] = map[pdu.InstID]string{}
		list, err := s.Instances(ctx, d)
		if err != nil {
			s.t.Error(d, err)
		}
		for _, i := range list {
			known[d][i.ID] = i.Name
		}
	}
	return fmt.Sprintf("%d %q", id, known[d][id])
}

// number converts a value to a float64. It is not ok if the value is no number.
func number(a pdu.Atom) (float64, bool) {
	v, err := pdu.As[float64](a)
	return v, err == nil && a.Type != pdu.TypeString
}

// text formats a value. Values that differ have texts that differ.
func text(a pdu.Atom) string {
	switch a.Type {
	case pdu.TypeString:
		return as[string](a)
	case pdu.TypeFloat:
		return as[float32](a)
	case pdu.TypeDouble:
		return as[float64](a)
	case pdu.TypeU32, pdu.TypeU64:
		return as[uint64](a)
	}
	return as[int64](a)
}

func as[T pdu.Scalar](a pdu.Atom) string {
	v, err := pdu.As[T](a)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(v)
}

// corrected converts descriptors of PCP 6 to those of PCP 7.
var corrected = map[string]func(*pdu.Desc){
	"mem.vmstat.nr_free_cma": func(d *pdu.Desc) { d.Sem = pdu.SemInstant },
	"disk.dm.read_bytes":     widen,
	"disk.dm.write_bytes":    widen,
	"disk.dm.total_bytes":    widen,
	"disk.md.read_bytes":     widen,
	"disk.md.write_bytes":    widen,
	"disk.md.total_bytes":    widen,
}

func widen(d *pdu.Desc) { d.Type = pdu.TypeU64 }

// differences compares a snapshot of our agent with two of the C agent, one before and one after
// it. Where these are equal, ours must be equal too. Otherwise a counter must be between the two,
// and another number near them.
func differences(names []string, before, our, after snapshot) []string {
	var all []string
	report := func(name, format string, args ...any) { all = append(all, name+": "+fmt.Sprintf(format, args...)) }
	for _, name := range names {
		want := before.descs[name]
		if correct := corrected[name]; correct != nil {
			correct(&want)
		}
		if want != our.descs[name] {
			report(name, "is %+v, want %+v", our.descs[name], want)
		}
		for inst, a := range before.values[name] {
			if madeUpValues[name] != "" && text(a) == madeUpValues[name] {
				for _, p := range []snapshot{before, our, after} {
					p.drop(name, inst)
				}
			}
		}
		if (absence(our.errors[name]) || misread[name] != "") && before.isAbsent(name) {
			continue // the C agent returns zeros for missing files, or reads others
		}
		if before.errors[name] != our.errors[name] {
			report(name, "has the error %v, want %v", our.errors[name], before.errors[name])
			continue
		}
		if before.insts[name] != after.insts[name] {
			continue // instances come and go
		}
		if len(our.values[name]) == 0 && our.errors[name] == 0 && !before.isAbsent(name) {
			report(name, "has no value")
			continue
		}
		if want := before.except(our, name); our.insts[name] != want {
			report(name, "has the instances\n%s\nwant\n%s", our.insts[name], want)
			continue
		}
		if mistaken[name] != "" {
			continue
		}
		for _, inst := range slices.Sorted(maps.Keys(our.values[name])) {
			a, b, v := before.values[name][inst], after.values[name][inst], our.values[name][inst]
			if !plausible(our.descs[name].Sem, a, v, b) {
				report(name, "[%s] is %s, want %s to %s", inst, text(v), text(a), text(b))
			}
		}
	}
	return all
}

// absence reports whether an error means that a file is missing or cannot be opened.
func absence(err pdu.Error) bool {
	return err == pdu.ErrAppVersion || errors.Is(err, syscall.ELOOP) || errors.Is(err, fs.ErrPermission)
}

// drop removes an instance of a metric.
func (p snapshot) drop(name, inst string) {
	delete(p.values[name], inst)
	insts := slices.DeleteFunc(strings.Split(p.insts[name], "\n"), func(i string) bool { return i == inst })
	p.insts[name] = strings.Join(insts, "\n")
}

// madeUpValues are metrics with unknown values that the C agent invents. The tests do not compare
// them.
var madeUpValues = madeUpInterfaces

// invented are values other than 0 that the C agent returns for missing files.
var invented = map[string]string{
	"kernel.all.pid_max":   "4194304",
	"mem.vmstat.thp_split": "18446744073709551614", // twice -1
}

// isAbsent reports whether a metric has only errors, zeros or values in invented.
func (p snapshot) isAbsent(name string) bool {
	for _, a := range p.values[name] {
		if !ofAbsence(a) && text(a) != invented[name] {
			return false
		}
	}
	return true
}

// ofAbsence reports whether a value is one that the C agent returns for missing files.
func ofAbsence(a pdu.Atom) bool {
	s := text(a)
	return s == "0" || s == "" || s == "unknown" || s == "?"
}

// except returns the instances of a metric, without invented values that the other snapshot lacks.
func (p snapshot) except(other snapshot, name string) string {
	var insts []string
	for inst := range strings.SplitSeq(p.insts[name], "\n") {
		a, ok := p.values[name][inst]
		if _, has := other.values[name][inst]; has || !ok || !ofAbsence(a) {
			insts = append(insts, inst)
		}
	}
	return strings.Join(insts, "\n")
}

// String returns a line for each metric with its error, its value, or its instances and their
// values.
func (p snapshot) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.descs)) {
		b.WriteString(name)
		if err := p.errors[name]; err != 0 {
			fmt.Fprintf(&b, ": %v", err)
		}
		if len(p.values[name]) > 0 {
			for inst := range strings.SplitSeq(p.insts[name], "\n") {
				fmt.Fprintf(&b, " %s", strings.TrimSpace(inst+" "+text(p.values[name][inst])))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// plausible reports whether v can be the value between a and b.
func plausible(sem pdu.Sem, a, v, b pdu.Atom) bool {
	if text(v) == text(a) || text(v) == text(b) {
		return true
	}
	x, ok1 := number(a)
	y, ok2 := number(v)
	z, ok3 := number(b)
	if !ok1 || !ok2 || !ok3 || text(a) == text(b) && sem != pdu.SemInstant {
		return false
	}
	if sem == pdu.SemCounter {
		return x <= y && y <= z || z < x // it wrapped
	}
	// In between it may have been somewhat outside the two.
	room := 0.05*max(math.Abs(x), math.Abs(z)) + 2*math.Abs(z-x) + 8
	return y >= min(x, z)-room && y <= max(x, z)+room
}

// commonMetrics are the metrics that both agents have.
func commonMetrics(t *testing.T, our, their agentClient) []string {
	t.Helper()
	names, err := our.Traverse(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	all, err := their.Traverse(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, "pmcd.") })
	if i := slices.IndexFunc(names, func(n string) bool { return !slices.Contains(all, n) }); i >= 0 {
		t.Errorf("the C agent has no %s", names[i])
	}
	return names
}

// hasMdadm reports whether the C agent can run mdadm.
func hasMdadm() bool {
	_, err := os.Stat("/sbin/mdadm")
	return err == nil
}

// TestSameAsC compares all our metrics with those of the C agent, on this machine.
func TestSameAsC(t *testing.T) {
	their, our := cAgent(t, ""), ourAgent(t, "")
	names := slices.DeleteFunc(commonMetrics(t, our, their), func(n string) bool { return n == "disk.md.status" && !hasMdadm() })
	pcptest.Retry(t, func() string { // values may fluctuate between two snapshots, but not each time
		before := their.snapshot(names)
		now := our.snapshot(names)
		diff := differences(names, before, now, their.snapshot(names))
		names = slices.DeleteFunc(names, func(n string) bool {
			return !slices.ContainsFunc(diff, func(d string) bool { return strings.HasPrefix(d, n+": ") })
		})
		return strings.Join(diff, "\n")
	})
}

// trees are copies of /proc and /sys of other machines, from PCP's own tests.
const trees = "/var/lib/pcp/testsuite/linux/*.tgz"

// TestTrees compares all our metrics with those of the C agent, on the copies of
// other machines' files.
func TestTrees(t *testing.T) {
	pcptest.Need(t, "pmcd", "tar", trees)
	list, err := filepath.Glob(trees)
	if err != nil {
		t.Fatal(err)
	}
	for _, tree := range list {
		name := strings.TrimSuffix(filepath.Base(tree), ".tgz")
		subject, _, _ := strings.Cut(name, "-")
		if slices.Contains([]string{"cgroups", "containers", "procpid", "proc", "vdo", "zfs"}, subject) {
			continue // of other agents
		}
		t.Run(name, func(t *testing.T) {
			root := unpack(t, tree)
			// Some trees have proc and sys in a subdirectory.
			if inner, _ := filepath.Glob(filepath.Join(root, "*", "proc")); len(inner) == 1 {
				root = filepath.Dir(inner[0])
			}
			sameOnTree(t, root, misreadIn[subject]...)
		})
	}
}

// unpack unpacks a tree.
func unpack(t *testing.T, tree string) string {
	t.Helper()
	root := t.TempDir()
	out, err := exec.Command(pcptest.Tool(t, "tar"), "-C", root, "-xzf", tree).CombinedOutput()
	if os.Geteuid() != 0 {
		// Some directories are read-only, so RemoveAll could not empty them.
		if out, err := exec.Command("chmod", "-R", "u+w", root).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
		if bytes.Contains(out, []byte("Cannot mknod")) {
			t.Skip("only root can make the devices of this tree")
		}
	}
	if err != nil {
		t.Fatal(err, string(out))
	}
	return root
}

// sameOnTree compares the two agents on a tree that does not change, except for some
// metrics.
func sameOnTree(t *testing.T, root string, except ...string) {
	t.Helper()
	their, our := cAgent(t, root, processors(root)...), ourAgent(t, root)
	names := slices.DeleteFunc(commonMetrics(t, our, their), func(n string) bool { return live[n] != "" || slices.Contains(except, n) })
	want := their.snapshot(names)
	for _, d := range differences(names, want, our.snapshot(names), want) {
		t.Error(d)
	}
}

// processors returns the environment that tells the C agent the processors of a tree. Without it,
// the agent uses those of this machine.
func processors(root string) []string {
	stat, _ := os.ReadFile(filepath.Join(root, "proc", "stat"))
	n := 0
	for line := range strings.Lines(string(stat)) {
		name, _, _ := strings.Cut(line, " ")
		if cpu, err := strconv.Atoi(strings.TrimPrefix(name, "cpu")); err == nil {
			n = max(n, cpu+1)
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("LINUX_NCPUS=%d", n)}
}

// live are metrics that come from system calls, not from a tree, with the reason.
var live = func() map[string]string {
	all := map[string]string{}
	for _, some := range []map[string]string{liveProcessors, liveInterrupts, liveMemory, liveDisks, liveFilesystems, liveInterfaces} {
		maps.Copy(all, some)
	}
	return all
}()

// misread maps metrics to the reason why the C agent may read the wrong line, which mostly makes
// them 0. Separate tests check our values.
var misread = map[string]string{
	"mem.numa.util.mapped":       "it takes the lines ShmemPmdMapped and FilePmdMapped too, which come later",
	"mem.numa.util.pageTables":   "it takes the line SecPageTables too, which comes later",
	"mem.zoneinfo.nr_free_pages": "it does not find the line",
}

// misreadIn maps trees to metrics that the C agent misreads there. Trees of PCP's tests are named
// by subject.
var misreadIn = map[string][]string{
	"arm64": { // it assigns the columns to processors 0 to 2, and parses FIQ as a number
		"kernel.all.interrupts.total", "kernel.percpu.interrupts", "kernel.percpu.intr",
		"hinv.cpu.clock"}, // before PCP 7 it reads only the clock of /proc/cpuinfo
	"linux-2.6.9": {"disk.dev.scheduler"}, // it looks for /sys/block/cciss/c0d0, not cciss!c0d0
	"nfsrpc":      misreadNFS,
}

// mistaken maps metrics that have the value of another metric in the C agent to that value.
// Separate tests check our values.
var mistaken = map[string]string{
	"fchost.in.bytes":   "it has the frames sent",
	"fchost.out.frames": "it has the bytes received",
}

// TestHelp checks that every metric and instance domain has a distinct help text.
func TestHelp(t *testing.T) {
	our := ourAgent(t, t.TempDir())
	names, err := our.Traverse(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := our.Lookup(t.Context(), names)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for i, id := range ids {
		s, err := our.Text(t.Context(), id, pdu.TextOneLine)
		if id.Domain() != pmdalinux.Domain {
			continue
		}
		if other := texts[s]; err != nil || s == "" || other != "" {
			t.Errorf("%s has the help text %q (%v), as has %q", names[i], s, err, other)
		}
		texts[s] = names[i]
	}
	if len(texts) < 4 {
		t.Errorf("only %d metrics have help texts", len(texts))
	}
}

// write makes a file of a tree.
func write(t testing.TB, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	if err := cmp.Or(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
		t.Fatal(err)
	}
}

// link makes a symbolic link of a tree.
func link(t testing.TB, root, name, target string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	if err := cmp.Or(os.MkdirAll(filepath.Dir(path), 0o777), os.Symlink(target, path)); err != nil {
		t.Fatal(err)
	}
}
