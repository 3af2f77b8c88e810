package pmapi_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// realPMCD starts the C pmcd, and opens a context on it.
func realPMCD(t *testing.T, shipped ...string) (*pcptest.PMCD, *pmapi.Context) {
	t.Helper()
	pcptest.Need(t, "pmcd", "pminfo")
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: shipped})
	c, err := pmapi.Dial(t.Context(), pmcd.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return pmcd, c
}

// pminfo returns what the tool pminfo prints.
func pminfo(t *testing.T, pmcd *pcptest.PMCD, args ...string) string {
	t.Helper()
	out, errs, _ := pcptest.Run(t, nil, "", append([]string{"pminfo", "-h", pmcd.Host()}, args...)...)
	return out + errs
}

// All names, descriptors, texts and labels are those that pminfo prints.
func TestPMInfo(t *testing.T) {
	pmcd, c := realPMCD(t, "pmcd", "sample", "simple")
	ctx := t.Context()
	names, err := c.Traverse(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(pminfo(t, pmcd))
	slices.Sort(want)
	got := slices.Sorted(slices.Values(names))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("names (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(walk(t, c, "")))); diff != "" {
		t.Errorf("names by Children (-want +got):\n%s", diff)
	}
	// Some metrics have other instances for each client or at each time, or pminfo describes them
	// in its own words.
	names = slices.DeleteFunc(names, func(n string) bool {
		return slices.ContainsFunc([]string{"event.", "pmcd.client.", "sample.scramble.", "sample.proc.", "sample.dynamic.", "sample.bad.", "sample.mirage"},
			func(prefix string) bool { return strings.HasPrefix(n, prefix) })
	})
	var b strings.Builder
	for _, n := range names {
		b.WriteString(describe(t, c, n))
	}
	if diff := cmp.Diff(pminfo(t, pmcd, append([]string{"-dmlT"}, names...)...), b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// walk does with Children what Traverse does.
func walk(t *testing.T, c *pmapi.Context, name string) (names []string) {
	t.Helper()
	children, err := c.Children(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for _, child := range children {
		full := strings.TrimPrefix(name+"."+child.Name, ".")
		if child.Leaf {
			names = append(names, full)
		} else {
			names = append(names, walk(t, c, full)...)
		}
	}
	return names
}

var longTypes = map[pdu.Type]string{
	pdu.Type32: "32-bit int", pdu.TypeU32: "32-bit unsigned int", pdu.Type64: "64-bit int", pdu.TypeU64: "64-bit unsigned int",
	pdu.TypeFloat: "float", pdu.TypeDouble: "double", pdu.TypeString: "string", pdu.TypeAggregate: "aggregate",
	pdu.TypeAggregateStatic: "static aggregate", pdu.TypeEvent: "event record array", pdu.TypeHighResEvent: "highres event record array",
	pdu.TypeNoSupport: "Not Supported",
}

// describe returns what pminfo -dmlT prints for a metric.
func describe(t *testing.T, c *pmapi.Context, name string) string {
	t.Helper()
	ctx := t.Context()
	var b strings.Builder
	ids, err := c.Lookup(ctx, []string{name})
	if err != nil {
		t.Fatal(err)
	}
	id := ids[0]
	if all, err := c.Names(ctx, id); (err != nil || !slices.Contains(all, name)) && name != "sample.secret.foo.bar.max.redirect" {
		t.Errorf("%v is called %q, not %s: %v", id, all, name, err)
	}
	fmt.Fprintf(&b, "\n%s PMID: %v\n", name, id)
	d, err := c.Desc(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	units := d.Units.String()
	if units == "" {
		units = "none"
	}
	fmt.Fprintf(&b, "    Data Type: %s  InDom: %v %#x\n    Semantics: %v  Units: %s\n", longTypes[d.Type], d.InDom, uint32(d.InDom), d.Sem, units)
	sets, err := c.Labels(ctx, id)
	if err != nil {
		t.Errorf("labels of %s: %v", name, err)
	}
	fmt.Fprintf(&b, "    labels %s\n", merged(t, sets...))
	switch text, err := c.Text(ctx, id, pdu.TextHelp); {
	case err != nil:
		fmt.Fprintf(&b, "Full Help: Error: %v\n", pdu.FromError(err))
	default:
		fmt.Fprintf(&b, "Help:\n%s\n", text)
	}
	if d.InDom != pdu.NoInDom {
		labels, err := c.MetricLabels(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		describeInstances(t, c, &b, d.InDom, labels)
	}
	return b.String()
}

// describeInstances adds the labels of instances.
func describeInstances(t *testing.T, c *pmapi.Context, b *strings.Builder, d pdu.InDom, labels *pmapi.MetricLabels) {
	t.Helper()
	insts, err := c.Instances(t.Context(), d)
	if err != nil {
		t.Error(err)
	}
	for _, i := range insts {
		id, err1 := c.InstID(t.Context(), d, i.Name)
		name, err2 := c.InstName(t.Context(), d, i.ID)
		if id != i.ID || name != i.Name || err1 != nil || err2 != nil {
			t.Errorf("%v %+v: %v %v, %q %v", d, i, id, err1, name, err2)
		}
	}
	for _, i := range insts {
		fmt.Fprintf(b, "    inst [%d or %q] labels %s\n", i.ID, i.Name, labels.Instance(i.ID))
	}
}

func merged(t *testing.T, sets ...pdu.LabelSet) string {
	t.Helper()
	all, err := pdu.MergeLabels(nil, sets...)
	if err != nil {
		t.Error(err)
	}
	return all.String()
}

// Thousands of names are looked up in one call: of metrics, of dynamic metrics, unknown
// ones, and ones that are not leaves.
func TestLookupOfManyNames(t *testing.T) {
	_, c := realPMCD(t, "pmcd", "sample", "simple")
	ctx := t.Context()
	metrics, err := c.Traverse(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]pdu.PMID{}
	for _, n := range metrics {
		one, err := c.Lookup(ctx, []string{n})
		if err != nil {
			t.Fatal(err)
		}
		ids[n] = one[0]
	}
	if ids["sample.secret.foo.bar.max.redirect"] == 0 {
		t.Error("no dynamic name is among them")
	}
	names, want := make([]string, 2500), make([]pdu.PMID, 2500)
	for i := range names {
		switch n := metrics[i%len(metrics)]; {
		case i%7 == 5:
			names[i], want[i] = n+".nothing", pdu.NoPMID
		case i%7 == 6:
			names[i], want[i] = "sample", pdu.NoPMID
		default:
			names[i], want[i] = n, ids[n]
		}
	}
	got, err := c.Lookup(ctx, names)
	if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, pdu.ErrName) || !strings.Contains(fmt.Sprint(err), names[5]) {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	got, err = c.Lookup(ctx, names[6:])
	if diff := cmp.Diff(want[6:], got); diff != "" || !errors.Is(err, pdu.ErrNonLeaf) || !strings.Contains(fmt.Sprint(err), `"sample"`) {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	long := make([]string, 1000) // more than fit into one request
	for i := range long {
		long[i] = strings.Repeat("x", 1000) + strconv.Itoa(i)
	}
	if got, err = c.Lookup(ctx, append(long, "sample.bin")); got[1000] != ids["sample.bin"] || !errors.Is(err, pdu.ErrName) {
		t.Error(got[1000], err)
	}
}

// Requests that the C pmcd refuses fail with its codes.
func TestRefusals(t *testing.T) {
	_, c := realPMCD(t, "pmcd", "sample")
	ctx := t.Context()
	bin, unknown, noAgent := pdu.MakePMID(29, 0, 6), pdu.MakePMID(29, 7, 7), pdu.MakePMID(200, 0, 0)
	ids := []pdu.PMID{bin, unknown, noAgent, pdu.NoPMID}
	code := func(_ any, err error) pdu.Error { return pdu.FromError(err) }
	for _, tt := range []struct {
		name string
		got  pdu.Error
		want pdu.Error
	}{
		{"lookup, unknown", code(c.Lookup(ctx, []string{"sample.nothing"})), pdu.ErrName},
		{"lookup, not a leaf", code(c.Lookup(ctx, []string{"sample.dupnames"})), pdu.ErrNonLeaf},
		{"lookup, nothing", code(c.Lookup(ctx, []string{""})), pdu.ErrIPC},
		{"name of an unknown metric", code(c.Name(ctx, unknown)), pdu.ErrPMID},
		{"name of a metric without an agent", code(c.Names(ctx, noAgent)), pdu.ErrNoAgent},
		{"name of the null PMID", code(c.Names(ctx, pdu.NoPMID)), pdu.ErrNoAgent},
		{"children, unknown", code(c.Children(ctx, "sample.nothing")), pdu.ErrName},
		{"traverse, unknown", code(c.Traverse(ctx, "sample.nothing")), pdu.ErrName},
		{"desc of an unknown metric", code(c.Desc(ctx, unknown)), pdu.ErrPMID},
		{"desc of a metric without an agent", code(c.Desc(ctx, noAgent)), pdu.ErrPMID},
		{"desc of the null PMID", code(c.Desc(ctx, pdu.NoPMID)), pdu.ErrPMID},
		{"descs", code(c.Descs(ctx, ids)), pdu.ErrPMID},
		{"descs, all unknown", code(c.Descs(ctx, ids[1:])), pdu.ErrPMID},
		{"instances, null", code(c.Instances(ctx, pdu.NoInDom)), pdu.ErrInDom},
		{"instances, unknown", code(c.Instances(ctx, pdu.MakeInDom(29, 999))), pdu.ErrInDom},
		{"instances, no agent", code(c.Instances(ctx, pdu.MakeInDom(200, 1))), pdu.ErrInDom},
		{"instance, unknown", code(c.InstID(ctx, pdu.MakeInDom(29, 2), "bin")), pdu.ErrInst},
		{"instance, number", code(c.InstName(ctx, pdu.MakeInDom(29, 2), 7)), pdu.ErrInst},
		{"text of an unknown metric", code(c.Text(ctx, unknown, pdu.TextHelp)), pdu.ErrText},
		{"text of a metric without an agent", code(c.Text(ctx, noAgent, pdu.TextHelp)), pdu.ErrPMID},
		{"text of an unknown domain", code(c.InDomText(ctx, pdu.MakeInDom(29, 999), pdu.TextOneLine)), pdu.ErrText},
		{"text of no kind", code(c.Text(ctx, bin, pdu.TextDirect)), pdu.ErrArg},
		{"labels of a domain without an agent", code(c.DomainLabels(ctx, 200)), pdu.ErrNoAgent},
		{"labels of an instance domain without an agent", code(c.InstanceLabels(ctx, pdu.MakeInDom(200, 1))), pdu.ErrInDom},
		{"labels of a metric without an agent", code(c.Labels(ctx, noAgent)), pdu.ErrPMID},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, tt.got, tt.want)
		}
	}
	descs, _ := c.Descs(ctx, ids)
	if len(descs) != 4 || descs[0].PMID != bin || descs[1].PMID != pdu.NoPMID || descs[2].PMID != pdu.NoPMID || descs[3].PMID != pdu.NoPMID {
		t.Errorf("descs %v", descs)
	}
	var r pdu.Result
	ids[1] = pdu.MakePMID(2, 7, 7) // the agent sample has no value for what it does not know
	if err := c.Fetch(ctx, ids, &r); err != nil {
		t.Fatal(err)
	}
	var got []pdu.Error
	for _, s := range r.All() {
		got = append(got, pdu.FromError(s.Err()))
	}
	if diff := cmp.Diff([]pdu.Error{0, pdu.ErrPMID, pdu.ErrNoAgent, pdu.ErrNoAgent}, got); diff != "" {
		t.Errorf("fetch (-want +got):\n%s", diff)
	}
	if r.Time.Nanosecond()%1000 == 0 && time.Since(r.Time) > time.Minute {
		t.Errorf("at %v", r.Time)
	}
	if name, _ := os.Hostname(); c.HostName(ctx) != name {
		t.Errorf("host %q, want %q", c.HostName(ctx), name)
	}
}

// A fetch returns the stored values of the instances in the profile.
func TestStoreAndProfile(t *testing.T) {
	pmcd, c := realPMCD(t, "pmcd", "sample")
	ctx := t.Context()
	ids, err := c.Lookup(ctx, []string{"sample.write_me", "sample.bin", "sample.long.one"})
	if err != nil {
		t.Fatal(err)
	}
	store := func(id pdu.PMID, v int32) error {
		var w pdu.ResultWriter
		w.Begin(id)
		w.Int32(pdu.NoInst, v)
		r, err := w.Result()
		if err != nil {
			t.Fatal(err)
		}
		return c.StoreResult(ctx, r)
	}
	if err := store(ids[0], -4711); err != nil {
		t.Fatal(err)
	}
	if err := store(ids[2], 1); !errors.Is(err, pdu.ErrPermission) {
		t.Errorf("storing into a read-only metric: %v", err)
	}
	if out := pminfo(t, pmcd, "-f", "sample.write_me"); !strings.Contains(out, "value -4711\n") {
		t.Error(out)
	}
	if err := errors.Join(c.DelProfile(pdu.MakeInDom(29, 2)), c.AddProfile(pdu.MakeInDom(29, 2), 300, 700)); err != nil {
		t.Fatal(err)
	}
	var r pdu.Result
	if err := c.Fetch(ctx, ids, &r); err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, s := range r.All() {
		for i, a := range s.All(pdu.Type32) {
			got = append(got, fmt.Sprint(i, "=", a))
		}
	}
	if diff := cmp.Diff([]string{"-1=-4711", "300=300", "700=700", "-1=1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The C pmcd reports an agent that has ended and one that it has started in the reply to the next
// fetch, and in no reply before it.
func TestStateChanges(t *testing.T) {
	pcptest.Need(t, "pgrep")
	pmcd, c := realPMCD(t, "pmcd", "simple")
	ctx := t.Context()
	ids, err := c.Lookup(ctx, []string{"simple.numfetch", "pmcd.pid"})
	if err != nil {
		t.Fatal(err)
	}
	var r pdu.Result
	fetch := func() (pdu.Change, error) {
		t.Helper()
		if err := c.Fetch(ctx, ids, &r); err != nil {
			t.Fatal(err)
		}
		return r.Changed, r.At(0).Err()
	}
	if changed, err := fetch(); changed != 0 || err != nil {
		t.Fatal(changed, err)
	}
	out, err := exec.Command(pcptest.Tool(t, "pgrep"), "-P", strconv.Itoa(pmcd.PID())).Output()
	agent, err2 := strconv.Atoi(strings.TrimSpace(string(out)))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	if p, err := os.FindProcess(agent); err != nil || p.Kill() != nil {
		t.Fatal("the agent cannot be killed", err)
	}
	// pmcd restarts the agent automatically.
	var seen pdu.Change
	missed := false
	await(t, "the agent to go and come back", func() bool {
		c.HostName(ctx) // leaves the changes to the next fetch
		changed, err := fetch()
		seen |= changed
		missed = missed || err != nil
		return missed && err == nil && seen&(pdu.ChangeAddAgent|pdu.ChangeRestartAgent) != 0
	})
	if seen&pdu.ChangeDropAgent == 0 {
		t.Errorf("changes %v", seen)
	}
	if changed, err := fetch(); changed != 0 || err != nil {
		t.Errorf("reported twice: %v, %v", changed, err)
	}
}

func await(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// When the C pmcd has gone, every call fails as it does in the C library.
func TestLossOfPMCD(t *testing.T) {
	pmcd, c := realPMCD(t, "pmcd", "sample")
	if _, err := c.Desc(t.Context(), pdu.MakePMID(29, 0, 6)); err != nil {
		t.Fatal(err)
	}
	pmcd.Stop()
	for _, q := range apiCalls {
		if err := q.do(t.Context(), c, 7); q.name != "HostName" && pdu.FromError(err) != pdu.ErrIPC {
			t.Errorf("%s: %v", q.name, err)
		}
	}
	for range 2 {
		if err := c.Reconnect(t.Context()); pdu.FromError(err) != -110 {
			t.Error(err)
		}
	}
}
