package pmda_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/override"
	"github.com/pcp-go/pcp/pmda/pmdatest"
	"github.com/pcp-go/pcp/pmns"
)

// jobs returns an agent with metrics of its tables below the dynamic root jobs.run.
func jobs(t testing.TB) *pmda.Agent {
	t.Helper()
	a := &pmda.Agent{Name: "jobs", Domain: 251}
	register(t, a, pmda.Metric[int32]{Name: "jobs.count", Value: always[int32](2)})
	must(t, a.AddDynamic("jobs.run"))
	for _, name := range []string{"b.time", "a.time", "b.size", "c"} {
		register(t, a, pmda.Metric[int32]{Name: "jobs.run." + name, Text: "the " + name, Labels: `{"job":1}`, Value: always[int32](7),
			Store: func(context.Context, *pmda.Request, pdu.Instance, int32) error { return nil }})
	}
	return a
}

// describeNames returns the replies of an agent about a dynamic name: its PMID, its children and
// all names below it.
func describeNames(t testing.TB, h pmda.Handler, name string) string {
	t.Helper()
	id, err := h.PMID(t.Context(), request(), name)
	s := fmt.Sprintf("%v %v;", id, err)
	children, err := h.Children(t.Context(), request(), name)
	for _, c := range children {
		s += " " + c.Name
		if !c.Leaf {
			s += "."
		}
	}
	if err != nil {
		s += " " + err.Error()
	}
	names, err := h.Traverse(t.Context(), request(), name)
	if s += ";"; err != nil {
		return s + " " + err.Error()
	}
	for _, n := range names {
		s += " " + strings.TrimPrefix(n, "jobs.run")
	}
	return s
}

func wantNode(t testing.TB, h pmda.Handler, name, want string) {
	t.Helper()
	if got := describeNames(t, h, name); got != want {
		t.Errorf("%s:\n%s, want\n%s", name, got, want)
	}
}

// TestDynamicMetrics checks that metrics below a dynamic root have the same features as others.
func TestDynamicMetrics(t *testing.T) {
	a := jobs(t)
	const unknown = "PM_ID_NULL Unknown metric name; Unknown metric name; Unknown metric name"
	wantNames(t, a, "jobs.count 251.0.0", "jobs.run 251.*.*")
	wantNode(t, a, "jobs.run", "PM_ID_NULL Metric name is not a leaf in PMNS; b. a. c; .b.time .b.size .a.time .c")
	wantNode(t, a, "jobs.run.b", "PM_ID_NULL Metric name is not a leaf in PMNS; time size; .b.time .b.size")
	wantNode(t, a, "jobs.run.c", "251.0.4 <nil>;; .c")
	for _, name := range []string{"jobs.run.d", "jobs.run.c.d", "jobs.run.", "jobs.run.b.", "jobs.count", "jobs", "", "."} {
		wantNode(t, a, name, unknown)
	}
	id, err := a.PMID(t.Context(), request(), "jobs.run.a.time")
	must(t, err)
	names, err := a.Names(t.Context(), request(), id)
	if diff := cmp.Diff([]string{"jobs.run.a.time"}, names); diff != "" || err != nil {
		t.Errorf("Names (-want +got): %v\n%s", err, diff)
	}
	if names, err := a.Names(t.Context(), request(), pdu.MakePMID(251, 0, 0)); err != pdu.ErrPMID {
		t.Errorf("Names of a metric that is not dynamic: %v, %v", names, err)
	}
	text, err := a.Text(t.Context(), request(), pdu.TextOfMetric(id), pdu.TextOneLine)
	if text != "the a.time" || err != nil {
		t.Errorf("Text: %q, %v", text, err)
	}
	labels, err := a.Labels(t.Context(), request(), pdu.LabelsOfItem(id))
	if err != nil || len(labels) != 1 || string(labels[0].JSON) != `{"job":1}` {
		t.Errorf("Labels: %v, %v", labels, err)
	}
	if got := fetched(t, a, request(), id, pdu.MakePMID(251, 0, 0)); got != "251.0.2: -1=7\n251.0.0: -1=2\n" {
		t.Errorf("Fetch: %s", got)
	}
	pmdatest.Run(t, a)
}

// TestDynamicComeAndGo checks that each change is visible immediately, is reported once with the
// next fetch, and does not change the pointer of the name space.
func TestDynamicComeAndGo(t *testing.T) {
	a := jobs(t)
	before := a.Namespace()
	wantChange := func(want pdu.Change) {
		t.Helper()
		if got := changesOf(t, a); got != want {
			t.Errorf("clients are told %v, want %v", got, want)
		}
		if a.Namespace() != before {
			t.Error("the static name space is another")
		}
	}
	wantChange(0)
	register(t, a, pmda.Metric[int32]{Name: "jobs.run.d", Value: always[int32](7)})
	wantChange(pdu.ChangeNames)
	wantChange(0)
	must(t, a.Remove("jobs.run.b.size", "jobs.run.d"))
	wantChange(pdu.ChangeNames)
	wantNode(t, a, "jobs.run", "PM_ID_NULL Metric name is not a leaf in PMNS; b. a. c; .b.time .a.time .c")
	must(t, a.Remove("jobs.run.b.time"))
	wantNode(t, a, "jobs.run", "PM_ID_NULL Metric name is not a leaf in PMNS; a. c; .a.time .c")
	register(t, a, pmda.Metric[int32]{Name: "jobs.run.b", Value: always[int32](7)})
	must(t, a.Remove("jobs.run.a.time", "jobs.run.c", "jobs.run.b"))
	wantNode(t, a, "jobs.run", "PM_ID_NULL Unknown metric name;;")
	// The root itself may be a metric while no names are below it.
	register(t, a, pmda.Metric[int32]{Name: "jobs.run", ID: pmda.Item(9, 9), Value: always[int32](7)})
	wantNode(t, a, "jobs.run", "251.9.9 <nil>;; ")
	wantChange(pdu.ChangeNames)
	if err := a.Remove("jobs.run.b"); !errors.Is(err, pdu.ErrName) {
		t.Errorf("Remove of what has gone: %v", err)
	}
	must(t, a.Remove("jobs.run"))
	wantNode(t, a, "jobs.run", "PM_ID_NULL Unknown metric name; Unknown metric name; Unknown metric name")
	wantNames(t, a, "jobs.count 251.0.0")
	must(t, a.Err())
}

// TestRemoveRoot checks that Remove of a dynamic root removes all names below it.
func TestRemoveRoot(t *testing.T) {
	a := jobs(t)
	must(t, a.AddAlias("jobs.alias", "jobs.run.c"), a.AddLink("jobs.run.other", pdu.MakePMID(2, 0, 1)))
	must(t, a.Remove("jobs.run", "jobs.run.b.time"))
	wantNames(t, a, "jobs.count 251.0.0")
	if _, err := a.Desc(t.Context(), request(), pdu.MakePMID(251, 0, 2)); err != pdu.ErrPMID {
		t.Errorf("Desc of a metric that went with its root: %v", err)
	}
	if names, err := a.Names(t.Context(), request(), pdu.MakePMID(2, 0, 1)); err != pdu.ErrPMID {
		t.Errorf("Names of a link that went with its root: %v, %v", names, err)
	}
	register(t, a, pmda.Metric[int32]{Name: "jobs.run.static", Value: always[int32](7)})
	wantNames(t, a, "jobs.count 251.0.0", "jobs.run.static 251.0.5")
	must(t, a.Err())
}

// TestAliases checks metrics with several names, and names of metrics of other agents.
func TestAliases(t *testing.T) {
	a := jobs(t)
	own, other := pdu.MakePMID(251, 0, 4), pdu.MakePMID(2, 4, 1)
	must(t, a.AddAlias("jobs.same", "jobs.count"), a.AddAlias("jobs.last", "jobs.run.c"), a.AddAlias("jobs.run.x.c", "jobs.last"),
		a.AddLink("jobs.run.x.pmcd", other), a.AddAlias("jobs.run.x.again", "jobs.run.x.pmcd"))
	wantNames(t, a, "jobs.count 251.0.0", "jobs.run 251.*.*", "jobs.same 251.0.0", "jobs.last 251.0.4")
	wantNode(t, a, "jobs.run.x", "PM_ID_NULL Metric name is not a leaf in PMNS; c pmcd again; .x.c .x.pmcd .x.again")
	wantNode(t, a, "jobs.run.x.pmcd", "2.4.1 <nil>;; .x.pmcd")
	wantNode(t, a, "jobs.run.x.c", "251.0.4 <nil>;; .x.c")
	wantNamesOf := func(id pdu.PMID, want ...string) {
		t.Helper()
		names, err := a.Names(t.Context(), request(), id)
		if diff := cmp.Diff(want, names); diff != "" || (err != nil) != (want == nil) {
			t.Errorf("names of %v (-want +got): %v\n%s", id, err, diff)
		}
	}
	wantNamesOf(own, "jobs.run.c", "jobs.run.x.c")
	wantNamesOf(other, "jobs.run.x.pmcd", "jobs.run.x.again")
	pmdatest.Run(t, a)
	must(t, a.Remove("jobs.run.x.c", "jobs.run.x.pmcd"))
	wantNamesOf(own, "jobs.run.c")
	wantNamesOf(other, "jobs.run.x.again")
	must(t, a.Remove("jobs.run.c", "jobs.run.x.again")) // jobs.last goes with its metric
	wantNamesOf(own)
	wantNamesOf(other)
	wantNames(t, a, "jobs.count 251.0.0", "jobs.run 251.*.*", "jobs.same 251.0.0")
	must(t, a.Err())
	for want, err := range map[string]error{
		`add alias "jobs.x": there is no metric "jobs.none"`: a.AddAlias("jobs.x", "jobs.none"),
		`add alias "jobs.x": there is no metric "jobs.run"`:  a.AddAlias("jobs.x", "jobs.run"),
		`add alias "jobs.count": the name is in use`:         a.AddAlias("jobs.count", "jobs.count"),
		`add link "jobs.count": the name is in use`:          a.AddLink("jobs.count", other),
		`add link "jobs.x": it is not below a dynamic root`:  a.AddLink("jobs.x", other),
		`add link "jobs.run.x": PMID 2.*.*`:                  a.AddLink("jobs.run.x", pdu.DynamicRoot(2)),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestDynamicWrapped checks that a wrapper still replies for names that are not registered.
func TestDynamicWrapped(t *testing.T) {
	a := jobs(t)
	o := override.In(a)
	o.Children = func(ctx context.Context, r *pmda.Request, name string) ([]pmns.Child, error) {
		children, err := o.Next.Children(ctx, r, name)
		if name == "jobs.run" {
			children = append(children, pmns.Child{Name: "wrapped", Leaf: true})
		}
		return children, err
	}
	children, err := a.Children(t.Context(), request(), "jobs.run")
	if err != nil || !slices.Contains(children, pmns.Child{Name: "wrapped", Leaf: true}) || len(children) != 4 {
		t.Errorf("Children: %v, %v", children, err)
	}
}

// TestInstallNames checks that the files of an agent with aliases match its name space.
func TestInstallNames(t *testing.T) {
	a := jobs(t)
	must(t, a.AddAlias("jobs.same", "jobs.count"))
	files, err := pmda.InstallFilesOf(a)
	must(t, err)
	i := slices.IndexFunc(files, func(f pmda.InstallFile) bool { return f.Name == "pmns" })
	want := "jobs {\n\tcount\tJOBS:0:0\n\trun\tJOBS:*:*\n\tsame\tJOBS:0:0\n}\n"
	if got := string(files[i].Data); got != want {
		t.Errorf("pmns is\n%s\nwant\n%s", got, want)
	}
}
