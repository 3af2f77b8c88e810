package pmapi_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// TestInteropSuitePmfg does with the agent sample what test_pmfg.python of the suite does (test
// 859).
func TestInteropSuitePmfg(t *testing.T) {
	_, c := realPMCD(t, "sample")
	g := c.Group()
	one := pmapi.Add[uint32](g, "sample.ulong.one")
	bin := pmapi.Add[float32](g, "sample.float.bin", pmapi.Instance("bin-100"))
	wrong := map[pdu.Error]*pmapi.Item[string]{
		pdu.ErrInDom: pmapi.Add[string](g, "sample.float.bin"),
		pdu.ErrName:  pmapi.Add[string](g, "sample.no.such"),
	}
	fetchSuiteGroup(t, g)
	rates := pmapi.AddSet[float64](g, "sample.longlong.bin_ctr", pmapi.Scale("rate"))
	bins := pmapi.AddSet[int32](g, "sample.bogus_bin", pmapi.Scale("instant"))
	params := pmapi.AddEvents[float64](g, "sample.event.records", "sample.event.param_double", pmapi.Instance("fungus"))
	seen := map[float64]bool{}
	for i := range 4 {
		at := fetchSuiteGroup(t, g)
		if v, err := one.Value(); v != 1 || err != nil || time.Since(at).Abs() > time.Minute {
			t.Errorf("sample.ulong.one: %d, %v, at %v", v, err, at)
		}
		if v, err := bin.Value(); v != 100 || err != nil {
			t.Errorf("sample.float.bin[bin-100]: %v, %v", v, err)
		}
		for code, item := range wrong {
			if _, err := item.Value(); pdu.FromError(err) != code {
				t.Errorf("%s: %v, want %v", item.Name(), err, code)
			}
		}
		for k := range rates.Len() {
			inst, v, err := rates.At(k)
			if i == 0 && pdu.FromError(err) != pdu.ErrAgain || i > 0 && (v != 0 || err != nil) {
				t.Errorf("fetch %d: sample.longlong.bin_ctr[%s]: %v, %v", i, inst.Name, v, err)
			}
		}
		if rates.Len() != 9 || bins.Len() == 0 {
			t.Errorf("%d and %d instances", rates.Len(), bins.Len())
		}
		for inst, v := range bins.All() {
			if int(inst.ID) != int(v) {
				t.Errorf("sample.bogus_bin %d %s: %d", inst.ID, inst.Name, v)
			}
		}
		for _, v := range params.All() {
			if seen[v] = true; v != 8 && v != -9 {
				t.Errorf("sample.event.param_double: %v", v)
			}
		}
	}
	if len(seen) != 2 {
		t.Errorf("of the parameters, there were %v", seen)
	}
}

func fetchSuiteGroup(t *testing.T, g *pmapi.Group) time.Time {
	t.Helper()
	at, err := g.Fetch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestInteropSuitePmfgNames is the second part of test 859: all metrics below a name, as texts.
func TestInteropSuitePmfgNames(t *testing.T) {
	_, c := realPMCD(t, "sample")
	g := c.Group()
	tree := pmapi.AddTree[string](g, "sample.long", pmapi.Scale("instant"))
	for range 3 {
		fetchSuiteGroup(t, g)
		n := 0
		for name, set := range tree.All() {
			n++
			for inst, v := range set.All() {
				if name == "sample.long.ten" && v != "10" || strings.HasPrefix(name, "sample.long.bin") && v != strconv.Itoa(int(inst.ID)) {
					t.Errorf("%s[%d]: %q", name, inst.ID, v)
				}
			}
			if set.Len() == 0 {
				t.Errorf("%s has no values", name)
			}
		}
		if n != 7 {
			t.Errorf("%d metrics", n)
		}
	}
}

// suiteArchive opens an archive of the test-suite.
func suiteArchive(t *testing.T, name string) (*pmapi.Context, error) {
	t.Helper()
	return asPCP6.Open(t.Context(), filepath.Join(testArchives, name))
}

// TestInteropSuitePmfgArchives is the third part of test 859: groups of several archives, fetched
// in turn.
func TestInteropSuitePmfgArchives(t *testing.T) {
	pcptest.Need(t, testArchives)
	type source struct {
		g      *pmapi.Group
		memory *pmapi.Item[uint64]
		log    *pmapi.Item[string] // of discrete semantics, and logged once
		at     time.Time
		path   string
	}
	var sources []*source
	for i, logger := range []string{"13034", "13035", "13036"} { // instances of pmcd.pmlogger
		c, err := suiteArchive(t, fmt.Sprintf("multi-vm%02d", i))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		g := c.Group()
		sources = append(sources, &source{g: g, memory: pmapi.Add[uint64](g, "hinv.physmem"),
			log: pmapi.Add[string](g, "pmcd.pmlogger.archive", pmapi.Instance(logger))})
	}
	for round := range 5 {
		for i, s := range sources {
			s.at = fetchSuiteGroup(t, s.g)
			path, err := s.log.Value()
			if err != nil || s.path != "" && path != s.path {
				t.Errorf("archive %d, fetch %d: the logger's archive is %q, %v, and was %q", i, round, path, err, s.path)
			}
			s.path = path
			if v, err := s.memory.Value(); round > 0 && (v == 0 || err != nil) {
				t.Errorf("archive %d, fetch %d: hinv.physmem: %d, %v", i, round, v, err)
			}
			if slices.ContainsFunc(sources, func(o *source) bool { return o != s && o.at.Equal(s.at) }) {
				t.Errorf("archive %d, fetch %d: another archive has the same time", i, round)
			}
		}
	}
}

// TestInteropSuiteManyGroups makes and fetches groups of many sources at the same time, as
// multithread10 does (test 953). It omits the unreachable hosts: no host has their addresses, and
// the network may wait for a reply.
func TestInteropSuiteManyGroups(t *testing.T) {
	out := suiteOutput(t, "953")
	pmcd, c := realPMCD(t, "linux")
	_, mixture, _ := strings.Cut(out, "=== A mixture")
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^(\S+) (NUMBER|-\d+)$`).FindAllStringSubmatch(mixture, -1) {
		want = append(want, m[0])
	}
	got := make([]string, len(want))
	var all sync.WaitGroup
	for i, line := range want {
		name, _, _ := strings.Cut(line, " ")
		all.Go(func() {
			archive, ok := strings.CutPrefix(name, "./archives/")
			open := func() (*pmapi.Context, error) { return c.Dup(t.Context()) }
			if ok {
				open = func() (*pmapi.Context, error) { return suiteArchive(t, archive) }
			}
			pc, err := open()
			if err != nil {
				got[i] = fmt.Sprint(name, " ", err)
				return
			}
			defer pc.Close()
			got[i] = name + " " + numberOfCPUs(t, pc)
		})
	}
	all.Wait()
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 60 {
		t.Errorf("%d sources, with %s (-C +Go):\n%s", len(want), pmcd.Host(), diff)
	}
}

// numberOfCPUs is what the program has for a source: NUMBER, or the code of an error.
func numberOfCPUs(t *testing.T, c *pmapi.Context) string {
	g := c.Group()
	n := pmapi.Add[int32](g, "hinv.ncpu")
	_, err := g.Fetch(t.Context())
	v := int32(0)
	if err == nil {
		v, err = n.Value()
	}
	if err != nil {
		return strconv.Itoa(int(pdu.FromError(err)))
	}
	if v <= 0 || v > math.MaxInt16 {
		return fmt.Sprint(v, " CPUs")
	}
	return "NUMBER"
}

// TestInteropSuiteDerivedGroup selects processes of a derived metric by their numbers, as
// pmfg-derived does (test 1899): the agent proc knows them by these, too, besides the names of its
// instances.
func TestInteropSuiteDerivedGroup(t *testing.T) {
	pmcd, _ := realPMCD(t, "linux", "proc")
	host := "unix:" + pmcd.Socket() // pmcd knows the user of a unix socket
	c, err := pmapi.Dial(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const expr = "kernel.all.uptime - proc.psinfo.start_time"
	if err := c.Derive(t.Context(), "test", expr); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "derived")
	if err := os.WriteFile(config, []byte("test = "+expr+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	x := newComparison(t, host, c, "PCP_DERIVED_CONFIG="+config)
	for _, pid := range []int{os.Getpid(), os.Getppid(), pmcd.PID()} {
		for _, name := range []string{strconv.Itoa(pid), fmt.Sprintf("%06d", pid), fmt.Sprintf("0%d", pid), fmt.Sprintf("%d x", pid), fmt.Sprintf("%dx", pid)} {
			x.add(testItem{"item", "proc.psinfo.pid", name, "", "-", pdu.TypeString})
			x.add(testItem{"item", "test", name, "", "-", pdu.TypeDouble})
		}
	}
	ofTime := func(w testItem) bool { return w.metric == "test" }
	for _, round := range []string{"first", "second"} {
		x.fetch(round, ofTime, nil)
	}
	if len(x.refuse) != 12 {
		t.Errorf("%d items have no values in C: %v", len(x.refuse), x.refuse)
	}
}
