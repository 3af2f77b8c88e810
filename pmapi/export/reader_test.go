package export_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// shown formats a snapshot, with a line for each value.
func shown(s *export.Snapshot) string {
	var b strings.Builder
	for m, values := range s.All() {
		if err := values.Err(); err != nil {
			fmt.Fprintf(&b, "%s: %v\n", m.Name, err)
		}
		for inst, v := range values.All(m.Desc.Type) {
			fmt.Fprint(&b, m.Name)
			if i := m.InDom.Instance(inst); i != nil {
				fmt.Fprintf(&b, "[%s]%v", i.Name, i.Labels)
			}
			fmt.Fprintf(&b, " %v\n", v)
		}
	}
	return b.String()
}

func read(t *testing.T, r *export.Reader) *export.Snapshot {
	t.Helper()
	s, err := r.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func want(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// disks returns a source with a domain of two instances, and all kinds of labels.
func disks(t *testing.T) (*pmapitest.Source, *pmapitest.InDom, *pmapitest.Metric[uint64]) {
	src := &pmapitest.Source{}
	t.Cleanup(func() { src.Close() })
	d := src.InDom("sda", "sdb")
	reads := pmapitest.Add(src, pmapitest.Metric[uint64]{
		Name: "disk.dev.read", InDom: d, Sem: pdu.SemCounter, Units: pdu.UnitCount, Text: "reads", Help: "Reads of a disk.",
	})
	reads.Set(1, 2)
	return src, d, reads
}

func TestRead(t *testing.T) {
	src, d, reads := disks(t)
	d.SetLabels(`{"device":"disk"}`, func(i pdu.Instance) string { return `{"unit":"` + i.Name + `"}` })
	reads.SetLabels(`{"kind":"read","device":"any"}`)
	src.Labels = `{"hostname":"web1"}`
	src.SetLabels(pdu.LabelDomain, uint32(reads.Desc().PMID.Domain()), `{"agent":"test","kind":"all"}`)
	up := pmapitest.Add(src, pmapitest.Metric[float64]{Name: "up"})
	up.Set(1.5)

	r := &export.Reader{Context: src.Context()}
	s := read(t, r)
	want(t, shown(s), `disk.dev.read[sda]{"unit":"sda"} 1`+"\n"+`disk.dev.read[sdb]{"unit":"sdb"} 2`+"\nup 1.500000e+00\n")
	want(t, s.Context.String(), `{"hostname":"web1"}`)
	for m := range s.All() {
		if m.Name == "disk.dev.read" {
			want(t, m.Labels.String(), `{"agent":"test","device":"any","kind":"read"}`)
			want(t, m.Line+"|"+m.Help, "reads|Reads of a disk.")
			want(t, m.Desc.Units.String(), "count")
		}
	}
	if len(s.Errs) != 0 {
		t.Error("errors:", s.Errs)
	}
}

func TestNames(t *testing.T) {
	src, _, _ := disks(t)
	pmapitest.Add(src, pmapitest.Metric[float64]{Name: "disk.all"}).Set(3)
	pmapitest.Add(src, pmapitest.Metric[float64]{Name: "up"}).Set(1)

	r := &export.Reader{Context: src.Context(), Names: []string{"up", "no.such", "disk", "disk.all"}}
	s := read(t, r)
	var names []string
	for m := range s.All() {
		names = append(names, m.Name)
	}
	want(t, strings.Join(names, " "), "up disk.dev.read disk.all")
	if len(s.Errs) != 1 || !errors.Is(s.Errs[0], pdu.ErrName) || !strings.Contains(s.Errs[0].Error(), "no.such") {
		t.Error("errors:", s.Errs)
	}

	none := read(t, &export.Reader{Context: src.Context(), Names: []string{"no.such"}})
	if none.Len() != 0 || len(none.Errs) != 1 {
		t.Errorf("%d metrics, errors %v", none.Len(), none.Errs)
	}

	counters := &export.Reader{Context: src.Context(), Keep: func(_ string, d pdu.Desc) bool { return d.Sem == pdu.SemCounter }}
	if s := read(t, counters); s.Len() != 1 {
		t.Errorf("%d counters", s.Len())
	}
}

// TestChanges: the next snapshot has all changes of the source, whether reported (names) or not
// (instances).
func TestChanges(t *testing.T) {
	src, d, reads := disks(t)
	r := &export.Reader{Context: src.Context()}
	s := read(t, r)
	first := s.Generation
	var sda *export.Instance
	for m := range s.All() {
		sda = m.InDom.Instance(0)
	}

	d.SetNames("sda", "sdb", "sdc")
	reads.Set(3, 4, 5)
	s = read(t, r)
	want(t, shown(s), "disk.dev.read[sda]{} 3\ndisk.dev.read[sdb]{} 4\ndisk.dev.read[sdc]{} 5\n")
	for m := range s.All() {
		if m.InDom.Instance(0) != sda {
			t.Error("an instance that has stayed as it was is another one")
		}
	}
	if s.Generation != first {
		t.Error("metrics count as described anew for an instance")
	}

	pmapitest.Add(src, pmapitest.Metric[float64]{Name: "up"}).Set(1)
	src.Notify(pdu.ChangeNames)
	s = read(t, r)
	if !strings.HasSuffix(shown(s), "up 1.000000e+00\n") || s.Generation == first {
		t.Errorf("generation %d after %d:\n%s", s.Generation, first, shown(s))
	}

	reads.Fail(pdu.ErrAgain)
	want(t, strings.SplitN(shown(read(t, r)), "\n", 2)[0], "disk.dev.read: "+pdu.ErrAgain.Error())
}

// TestRefresh: a new instance that reuses a number is seen after Refresh, because the source does
// not report the change.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, d, _ := disks(t)
		defer src.Close()
		r := &export.Reader{Context: src.Context()}
		defer r.Context.Close()
		read(t, r)
		d.SetInstances(pdu.Instance{ID: 0, Name: "sdx"}, pdu.Instance{ID: 1, Name: "sdb"})
		want(t, shown(read(t, r)), "disk.dev.read[sda]{} 1\ndisk.dev.read[sdb]{} 2\n")
		time.Sleep(5 * time.Minute)
		want(t, shown(read(t, r)), "disk.dev.read[sdx]{} 1\ndisk.dev.read[sdb]{} 2\n")
	})
}

// TestLostSource: a Reader continues after a temporary loss of the source.
func TestLostSource(t *testing.T) {
	src, _, _ := disks(t)
	r := &export.Reader{Context: src.Context()}
	read(t, r)
	src.Break(io.ErrUnexpectedEOF)
	if _, err := r.Read(t.Context()); !errors.Is(err, pdu.ErrIPC) {
		t.Error("error of a broken connection:", err)
	}
	src.Restore()
	if err := r.Context.Reconnect(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, shown(read(t, r)), "disk.dev.read[sda]{} 1\ndisk.dev.read[sdb]{} 2\n")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Read(ctx); !errors.Is(err, context.Canceled) {
		t.Error("error of a context.Context that has ended:", err)
	}
}

// TestSilentSource: a silent collector ends a Read at any request, and is not taken for a silent
// agent. The next Read is complete.
func TestSilentSource(t *testing.T) {
	src, d, reads := disks(t)
	d.SetLabels(`{"device":"disk"}`, func(i pdu.Instance) string { return `{"unit":"` + i.Name + `"}` })
	reads.SetLabels(`{"kind":"read"}`)
	var made []string
	fail, why := -1, error(nil)
	src.OnRequest = func(_ context.Context, r pmapitest.Request) error {
		made = append(made, r.Method)
		if len(made)-1 == fail {
			return why
		}
		return nil
	}
	all := shown(read(t, &export.Reader{Context: src.Context()}))
	methods := made
	for _, m := range []string{"Traverse", "Lookup", "Descs", "Texts", "Labels", "Fetch", "Instances"} {
		if !slices.Contains(methods, m) {
			t.Errorf("no request %s among %v", m, methods)
		}
	}
	bulk := []string{"Lookup", "Descs", "Texts"}
	for i, method := range methods {
		if method == "HostName" {
			continue // the context knows the name that it was opened with
		}
		for _, code := range []error{pdu.ErrTimeout, pdu.ErrIPC, pdu.ErrAgain} {
			if code == pdu.ErrAgain && !slices.Contains(bulk, method) {
				continue // which may be of an agent
			}
			r := &export.Reader{Context: src.Context()}
			made, fail, why = nil, i, code
			if s, err := r.Read(t.Context()); !errors.Is(err, code) {
				t.Errorf("request %d, %s, fails with %v: snapshot %v, error %v", i, method, code, s, err)
			}
			fail = -1
			want(t, shown(read(t, r)), all)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	src := &pmapitest.Source{}
	defer src.Close()
	d := src.InDom("a", "b", "c", "d")
	for i := range 1000 {
		pmapitest.Add(src, pmapitest.Metric[uint64]{Name: fmt.Sprintf("m%d", i), InDom: d}).Set(1, 2, 3, 4)
	}
	r := &export.Reader{Context: src.Context(), Refresh: -1}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Read(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
