package pmdammv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// A client makes requests of an agent.
type client struct {
	testing.TB
	*agent
	request pmda.Request
	w       pdu.ResultWriter
}

func newClient(t testing.TB, o Options, l limits) *client {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &client{TB: t, agent: newAgent(o, l), request: pmda.Request{Client: pmda.NewClient(1, 1)}}
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.dir != nil {
			for _, e := range c.dir.entries {
				c.dir.drop(e)
			}
		}
	})
	return c
}

// fetch fetches metrics, and returns their values as text and the reported change.
func (c *client) fetch(ids ...pdu.PMID) ([]string, pdu.Change) {
	c.Helper()
	c.w.Reset()
	if err := c.Fetch(context.Background(), &c.request, ids, &c.w); err != nil {
		c.Fatal(err)
	}
	changed := c.w.Changed
	c.w.Changed = 0
	r, err := c.w.Result()
	if err != nil {
		c.Fatal(err)
	}
	all := make([]string, len(ids))
	for i, id := range ids {
		d, err := c.Desc(context.Background(), &c.request, id)
		set := r.At(i)
		switch {
		case set.Err() != nil:
			all[i] = "error: " + set.Err().Error()
			continue
		case err != nil:
			c.Fatalf("%v has a value and no descriptor: %v", id, err)
		}
		var values []string
		for inst, v := range set.All(d.Type) {
			s := v.String()
			if f, err := pdu.As[float64](v); err == nil && d.Type == pdu.TypeDouble {
				s = fmt.Sprint(f)
			}
			if inst != pdu.NoInst {
				s = fmt.Sprintf("%d:%s", inst, s)
			}
			values = append(values, s)
		}
		all[i] = strings.Join(values, " ")
	}
	return all, changed
}

// get returns the value of a metric.
func (c *client) get(name string) string {
	c.Helper()
	id, err := c.PMID(context.Background(), &c.request, name)
	if err != nil {
		return "error: " + err.Error()
	}
	all, _ := c.fetch(id)
	return all[0]
}

func (c *client) want(name, value string) {
	c.Helper()
	if got := c.get(name); got != value {
		c.Errorf("%s is %q, want %q", name, got, value)
	}
}

const unknown = "error: Unknown metric name"

// names returns the names of all metrics.
func (c *client) names() []string {
	c.Helper()
	names, err := c.Traverse(context.Background(), &c.request, c.agent.Name)
	if err != nil {
		c.Fatal(err)
	}
	return names
}

// publish writes a file of a Registry.
func publish(t testing.TB, dir string, r *mmv.Registry) {
	t.Helper()
	if err := r.Publish(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
}

// shop returns a Registry with metrics of all kinds.
func shop(name string) (*mmv.Registry, *mmv.Counter) {
	r := &mmv.Registry{Name: name, Labels: mmv.Labels{"app": "shop"}}
	orders := r.Counter("orders", mmv.Metric{Text: "Orders", Help: "Orders that were accepted", Units: pdu.UnitCount, Labels: mmv.Labels{"critical": true}})
	orders.Add(5)
	r.FloatGauge("load", mmv.Metric{}).Set(0.5)
	r.Text("state", mmv.Metric{}).Set("open")
	r.Timer("busy", mmv.Metric{})
	shelves := r.InDom("shelf", mmv.Domain{Text: "Shelves"})
	sold := shelves.Counter("sold", mmv.Metric{Text: "Sold by shelf"})
	sold.With("top").Add(1)
	sold.With("bottom").Add(2)
	return r, orders
}

// eachShop runs a test with a shop that is served from its file, and with one that is served in its
// process. id is the PMID of the shop's orders.
func eachShop(t *testing.T, test func(t *testing.T, c *client, r *mmv.Registry, orders *mmv.Counter, id pdu.PMID)) {
	for _, where := range []string{"file", "process"} {
		t.Run(where, func(t *testing.T) {
			r, orders := shop("shop")
			c := newClient(t, served(t, r, where), defaultLimits)
			id, err := c.PMID(t.Context(), &c.request, "mmv.shop.orders")
			if err != nil {
				t.Fatal(err)
			}
			test(t, c, r, orders, id)
		})
	}
}

// served returns the Options to serve a Registry from its file if where is "file", and otherwise in
// its process.
func served(t testing.TB, r *mmv.Registry, where string) Options {
	t.Helper()
	if where != "file" {
		return Options{Registries: []*mmv.Registry{r}}
	}
	dir := t.TempDir()
	publish(t, dir, r)
	return Options{Dir: dir}
}

func TestContract(t *testing.T) {
	dir := t.TempDir()
	f, _ := shop("file")
	publish(t, dir, f)
	r, _ := shop("registry")
	other, _ := shop("other")
	other.Process = mmv.ProcessOn // Close removes the file, even in a container
	published := false
	change := func() {
		if published = !published; published {
			publish(t, dir, other)
		} else {
			other.Close()
		}
	}
	start := func() pmda.Handler { return New(Options{Dir: dir, Registries: []*mmv.Registry{r}}) }
	pmdatest.Run(t, start(), pmdatest.ChangeNames(change), pmdatest.Restart(start), pmdatest.Stores(
		pmdatest.Store{Metric: "mmv.control.debug", Value: "5"},
		pmdatest.Store{Metric: "mmv.control.reload", Value: "1", Want: "0"}, // 1 during a change
		pmdatest.Store{Metric: "mmv.control.files", Value: "7", Err: pdu.ErrPermission},
		pmdatest.Store{Metric: "mmv.registry.orders", Value: "7", Err: pdu.ErrPermission}))
	pmdatest.Run(t, New(Options{Dir: filepath.Join(dir, "none"), Name: PMProxyName, Domain: PMProxyDomain}))
}

// everything returns what an agent serves for all its metrics, as text.
func (c *client) everything() (all []string) {
	c.Helper()
	ctx := context.Background()
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, name := range c.names() {
		id, err := c.PMID(ctx, &c.request, name)
		d, err2 := c.Desc(ctx, &c.request, id)
		if err = errors.Join(err, err2); err != nil {
			c.Fatal(err)
		}
		line, _ := c.Text(ctx, &c.request, pdu.TextOfMetric(id), pdu.TextOneLine)
		help, _ := c.Text(ctx, &c.request, pdu.TextOfMetric(id), pdu.TextHelp)
		names, _ := c.agent.Names(ctx, &c.request, id)
		say("%s %v %q %q %q = %s", name, d, names, line, help, c.get(name))
		targets := []pdu.LabelTarget{pdu.LabelsOfCluster(id), pdu.LabelsOfItem(id)}
		if d.InDom != pdu.NoInDom {
			insts, err := c.Instances(ctx, &c.request, d.InDom, pdu.NoInst, "")
			say("%v %v %v", d.InDom, insts, err)
			targets = append(targets, pdu.LabelsOfInDom(d.InDom), pdu.LabelsOfInstances(d.InDom))
		}
		for _, of := range targets {
			sets, err := c.Labels(ctx, &c.request, of)
			say("%v %v %v", of, sets, err)
		}
	}
	return all
}

// TestRegistry checks that a Registry and the file that it writes are served in the same way.
func TestRegistry(t *testing.T) {
	r, _ := shop("shop")
	inProcess := newClient(t, Options{Registries: []*mmv.Registry{r}}, defaultLimits)
	want := inProcess.everything()
	dir := t.TempDir()
	publish(t, dir, r)
	if diff := cmp.Diff(want, newClient(t, Options{Dir: dir}, defaultLimits).everything()); diff != "" {
		t.Errorf("the file (-Registry +file):\n%s", diff)
	}
	if diff := cmp.Diff(want, inProcess.everything()); diff != "" {
		t.Errorf("in process, after the file was written (-before +after):\n%s", diff)
	}
	if len(want) < 15 {
		t.Errorf("too little is served: %q", want)
	}
}

// TestNilRegistry checks that a nil Registry is refused before the first request.
func TestNilRegistry(t *testing.T) {
	r, _ := shop("shop")
	err := Of(r, nil).Err()
	if want := "pmdammv: Registry 2 of 2 is nil"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := Of(r).Err(); err != nil {
		t.Error(err)
	}
}

// TestGrowth checks that clients learn of new names when a Registry grows, and find them.
func TestGrowth(t *testing.T) {
	eachShop(t, func(t *testing.T, c *client, r *mmv.Registry, orders *mmv.Counter, id pdu.PMID) {
		c.fetch(id) // receives earlier changes
		for i := range 300 {
			name := fmt.Sprintf("more%d", i)
			r.Gauge(name, mmv.Metric{}).Set(int64(i))
			orders.Inc()
			got, changed := c.fetch(id)
			if got[0] != fmt.Sprint(6+i) || changed&pdu.ChangeNames == 0 {
				t.Fatalf("after metric %d: %q, change %v", i, got, changed)
			}
			c.want("mmv.shop."+name, fmt.Sprint(i))
			if _, changed := c.fetch(id); changed != 0 {
				t.Fatalf("told again of metric %d: %v", i, changed)
			}
		}
	})
}

// TestInstancesComeAndGo checks that new and removed instances are not reported as changes of
// names.
func TestInstancesComeAndGo(t *testing.T) {
	r := &mmv.Registry{Name: "shop"}
	d := r.InDom("shelf", mmv.Domain{})
	sold := d.Counter("sold", mmv.Metric{})
	sold.With("a").Add(1)
	c := newClient(t, Options{Registries: []*mmv.Registry{r}}, defaultLimits)
	id, err := c.PMID(t.Context(), &c.request, "mmv.shop.sold")
	if err != nil {
		t.Fatal(err)
	}
	count := func() int { all, _ := c.fetch(id); return len(strings.Fields(all[0])) }
	if n := count(); n != 1 {
		t.Fatalf("%d instances, want 1", n)
	}
	for i := range 200 {
		sold.With(fmt.Sprintf("b%d", i)).Add(1)
	}
	if n := count(); n != 201 {
		t.Errorf("%d instances, want 201", n)
	}
	d.Remove("a")
	if n := count(); n != 200 {
		t.Errorf("%d instances, want 200", n)
	}
	if _, changed := c.fetch(id); changed&pdu.ChangeNames != 0 {
		t.Errorf("change %v", changed)
	}
}

// TestOnlyChangedFilesAreRead checks that the agent does not read unchanged files again.
func TestOnlyChangedFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	one, orders := shop("one")
	publish(t, dir, one)
	c := newClient(t, Options{Dir: dir}, defaultLimits)
	c.want("mmv.one.orders", "5")
	kept := c.snap.Load().entries[0]
	two, _ := shop("two")
	publish(t, dir, two)
	orders.Add(1) // changes the file's time
	c.want("mmv.two.orders", "5")
	c.want("mmv.one.orders", "6")
	if c.snap.Load().entries[0] != kept {
		t.Error("the first file was read again")
	}
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(dir, "two"))
	c.want("mmv.two.orders", unknown)
	if c.snap.Load().entries[0] != kept {
		t.Error("the first file was read again")
	}
	c.reload.Store(true) // as a store to mmv.control.reload does
	c.want("mmv.one.orders", "6")
	if c.snap.Load().entries[0] == kept {
		t.Error("the first file was not read again")
	}
}

// recorded returns a file that libpcp_mmv has written, patched so that it needs no process.
func recorded(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("../../mmv/testdata/v1.mmv")
	if err != nil {
		t.Fatal(err)
	}
	if binary.NativeEndian.Uint32(b[4:]) != 1 {
		t.Skip("the recorded file has another byte order than this host")
	}
	binary.NativeEndian.PutUint32(b[28:], 0)
	return b
}

func write(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestCompletedInPlace checks that a file that is written in place, as by libpcp_mmv, is found
// whenever a request examines it.
func TestCompletedInPlace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "slow")
	c := newClient(t, Options{Dir: dir}, defaultLimits)
	b := recorded(t)
	c.want("mmv.slow.rate", unknown)
	write(t, path, nil)
	c.want("mmv.slow.rate", unknown)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(int64(len(b))); err != nil {
		t.Fatal(err)
	}
	c.want("mmv.slow.rate", unknown)
	f.WriteAt(b[:16], 0) // with the first generation
	c.want("mmv.slow.rate", unknown)
	c.want("mmv.control.reload", "1")
	f.WriteAt(b[24:], 24)
	c.want("mmv.slow.rate", unknown)
	f.WriteAt(b[16:24], 16)
	c.want("mmv.slow.rate", "2.5")
	c.want("mmv.control.reload", "0")
}

// TestTruncated truncates a file that is served. The others must stay, and nothing may crash.
func TestTruncated(t *testing.T) {
	dir := t.TempDir()
	b := recorded(t)
	write(t, filepath.Join(dir, "a"), b)
	binary.NativeEndian.PutUint32(b[36:], 12)
	write(t, filepath.Join(dir, "b"), b)
	c := newClient(t, Options{Dir: dir}, defaultLimits)
	for n := len(b); n >= 0; n -= 100 {
		c.want("mmv.b.rate", "2.5")
		if err := os.Truncate(filepath.Join(dir, "a"), int64(n)); err != nil {
			t.Fatal(err)
		}
		if got := c.get("mmv.a.rate"); n > 900 && got != "2.5" || n < 728+5*32 && !strings.HasPrefix(got, "error: ") {
			t.Errorf("of %d bytes: %q", n, got)
		}
	}
}

// TestProcess checks that only files of running processes are served.
func TestProcess(t *testing.T) {
	if !alive(os.Getpid()) || alive(math.MaxInt32) || alive(-1) {
		t.Skip("nothing is known of processes on this system")
	}
	dir := t.TempDir()
	b := recorded(t)
	binary.NativeEndian.PutUint32(b[28:], 2) // the file depends on its process
	for name, pid := range map[string]int{"mine": os.Getpid(), "dead": math.MaxInt32, "negative": -1, "none": 0} {
		binary.NativeEndian.PutUint32(b[32:], uint32(pid))
		write(t, filepath.Join(dir, name), b)
	}
	c := newClient(t, Options{Dir: dir}, defaultLimits)
	c.want("mmv.mine.rate", "2.5")
	c.want("mmv.none.rate", "2.5")
	c.want("mmv.dead.rate", unknown)
	c.want("mmv.negative.rate", unknown)
	c.want("mmv.control.files", "2")
}

// TestSentinels checks that a sentinel means that an instance has no value. A NaN is a sentinel in
// PCP 7, but not in PCP 6.
func TestSentinels(t *testing.T) {
	dir := t.TempDir()
	b := recorded(t)
	binary.NativeEndian.PutUint32(b[28:], 4) // sentinels stand for missing values
	binary.NativeEndian.PutUint64(b[728:], math.MaxUint64)
	binary.NativeEndian.PutUint64(b[728+4*32:], math.Float64bits(math.NaN()))
	write(t, filepath.Join(dir, "f"), b)
	c := newClient(t, Options{Dir: dir}, defaultLimits)
	c.want("mmv.f.rate", "")
	c.want("mmv.f.hits", "2:2")
	c.want("mmv.f.busy", "1000")
}

// TestDirectoryComesAndGoes removes the directory and creates it again.
func TestDirectoryComesAndGoes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mmv")
	c := newClient(t, Options{Dir: dir}, defaultLimits)
	for range 3 {
		c.want("mmv.f.rate", unknown)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		c.want("mmv.control.files", "0")
		write(t, filepath.Join(dir, "f"), recorded(t))
		c.want("mmv.f.rate", "2.5")
		if err := os.Rename(dir, dir+fmt.Sprint(time.Now().UnixNano())); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLimits checks that the agent serves files within the limits and logs the others.
func TestLimits(t *testing.T) {
	size := int64(len(recorded(t)))
	for _, tt := range []struct {
		name  string
		l     limits
		files int
		log   string
	}{
		{"files", limits{files: 3, fileBytes: 1 << 20, bytes: 1 << 20, metrics: 100, open: 9}, 3, "too many MMV files"},
		{"bytes of a file", limits{files: 9, fileBytes: size - 1, bytes: 1 << 20, metrics: 100, open: 9}, 0, "limit"},
		{"bytes", limits{files: 9, fileBytes: size, bytes: 4 * size, metrics: 100, open: 9}, 4, "all files together"},
		{"metrics", limits{files: 9, fileBytes: size, bytes: 9 * size, metrics: 9, open: 9}, 2, "too many metrics"},
		{"open files", limits{files: 9, fileBytes: size, bytes: 9 * size, metrics: 99, open: 2}, 5, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for i := range 5 {
				write(t, filepath.Join(dir, fmt.Sprint("f", i)), recorded(t))
			}
			var log bytes.Buffer
			c := newClient(t, Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))}, tt.l)
			c.want("mmv.control.files", fmt.Sprint(tt.files))
			if !strings.Contains(log.String(), tt.log) || tt.log == "" && log.Len() > 0 {
				t.Errorf("log %q, want %q", &log, tt.log)
			}
			for i := range tt.files {
				c.want(fmt.Sprintf("mmv.f%d.rate", i), "2.5")
			}
			if c.dir.kept > tt.l.open {
				t.Errorf("%d files are open, limit %d", c.dir.kept, tt.l.open)
			}
		})
	}
}

// TestWorthlessFiles checks that any number of unserved files does not keep other files from being
// served.
func TestWorthlessFiles(t *testing.T) {
	dir := t.TempDir()
	good := recorded(t)
	for i := range pcptest.AttackSize(40, 10_000) {
		write(t, filepath.Join(dir, fmt.Sprintf("a%02d", i)), nil)
	}
	for i := range 30 {
		write(t, filepath.Join(dir, fmt.Sprintf("b%02d", i)), append(slices.Clone(good[:len(good)/2]), make([]byte, 3*len(good))...))
	}
	write(t, filepath.Join(dir, "f"), good)
	l := limits{files: 3, fileBytes: 1 << 20, bytes: int64(len(good)), metrics: 100, open: 1}
	c := newClient(t, Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)}, l)
	pcptest.Attack(t, func() { c.want("mmv.f.rate", "2.5") }, nil)
	if c.dir.kept != 1 || c.dir.used.files != 1 {
		t.Errorf("%d files are open and %+v are used", c.dir.kept, c.dir.used)
	}
	if n := len(c.dir.entries); n > 4 {
		t.Errorf("%d files are looked at again", n)
	}
}

// TestOwnerShare checks that the files of one owner leave room for those of others.
func TestOwnerShare(t *testing.T) {
	pcptest.NeedRoot(t, "to give files other owners")
	dir := t.TempDir()
	for i := range 8 {
		path := filepath.Join(dir, fmt.Sprint("a", i))
		write(t, path, recorded(t))
		if err := os.Chown(path, 4711, -1); err != nil {
			t.Fatal(err)
		}
	}
	other := filepath.Join(dir, "f")
	write(t, other, recorded(t))
	if err := os.Chown(other, 4712, -1); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)}, limits{files: 8, fileBytes: 1 << 20, bytes: 1 << 20, metrics: 100, open: 9})
	c.want("mmv.control.files", "5")
	c.want("mmv.f.rate", "2.5")
	for i := range 8 {
		if err := os.Remove(filepath.Join(dir, fmt.Sprint("a", i))); err != nil {
			t.Fatal(err)
		}
	}
	c.want("mmv.control.files", "1")
	if diff := cmp.Diff(map[int]usage{4712: c.dir.used}, c.dir.owners, cmp.AllowUnexported(usage{})); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
}

// TestDashInFileName checks that an invalid file name matters only if it is a prefix of the
// metrics.
func TestDashInFileName(t *testing.T) {
	dir := t.TempDir()
	r := &mmv.Registry{Name: "java-app", NoPrefix: true, Process: mmv.ProcessOff}
	r.Counter("jvm.threads", mmv.Metric{}).Add(7)
	publish(t, dir, r)
	other := &mmv.Registry{Name: "other", Process: mmv.ProcessOff}
	other.Counter("c", mmv.Metric{}).Inc()
	publish(t, dir, other)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "other"), filepath.Join(dir, "has-dash")); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	c := newClient(t, Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))}, defaultLimits)
	c.want("mmv.jvm.threads", "7")
	c.want("mmv.has-dash.c", unknown)
	if strings.Contains(log.String(), "java-app") || !strings.Contains(log.String(), `\"has-dash\" has something else than letters`) ||
		!strings.Contains(log.String(), "rename the file, or set its flag NOPREFIX") {
		t.Errorf("log\n%s", &log)
	}
}

// TestLogIsLimited changes a bad file very often.
func TestLogIsLimited(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	c := newClient(t, Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))}, defaultLimits)
	for i := range 1000 {
		write(t, filepath.Join(dir, "bad"), bytes.Repeat([]byte{byte(i)}, 100))
		c.want("mmv.control.files", "0")
		c.want("mmv.control.files", "0") // logs nothing more
	}
	if n := strings.Count(log.String(), "\n"); n == 0 || n > 20 {
		t.Errorf("%d lines:\n%s", n, &log)
	}
}

func TestFetchDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop values")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), recorded(t))
	r, _ := shop("shop")
	c := newClient(t, Options{Dir: dir, Registries: []*mmv.Registry{r}}, defaultLimits)
	var ids []pdu.PMID
	for _, name := range c.names() {
		id, err := c.PMID(t.Context(), &c.request, name)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	for c.dir.seen.Load().recent { // until then each fetch lists the directory
		time.Sleep(tick)
		c.fetch(ids...)
	}
	ctx := t.Context()
	n := testing.AllocsPerRun(200, func() {
		c.w.Reset()
		if err := c.Fetch(ctx, &c.request, ids, &c.w); err != nil {
			t.Error(err)
		}
	})
	if n != 0 {
		t.Errorf("a fetch of %d metrics allocates %v times", len(ids), n)
	}
}
