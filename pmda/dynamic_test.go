package pmda_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
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

// dynamicAgent has one metric in its tables, and one that a wrapper knows.
func dynamicAgent() *pmda.Agent {
	a := &pmda.Agent{Name: "found", Domain: 251}
	pmda.Register(a, pmda.Metric[uint64]{Name: "found.all", Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return 1, nil }})
	const name = "found.by.chance"
	x := pdu.MakePMID(251, 7, 1)
	o := override.In(a)
	o.PMID = func(_ context.Context, _ *pmda.Request, n string) (pdu.PMID, error) {
		if n != name {
			return pdu.NoPMID, pdu.ErrName
		}
		return x, nil
	}
	o.Names = func(_ context.Context, _ *pmda.Request, id pdu.PMID) ([]string, error) {
		if id != x {
			return nil, pdu.ErrPMID
		}
		return []string{name}, nil
	}
	o.Children = func(_ context.Context, _ *pmda.Request, n string) ([]pmns.Child, error) {
		if n != "found.by" {
			return nil, pdu.ErrName
		}
		return []pmns.Child{{Name: "chance", Leaf: true}}, nil
	}
	o.Traverse = func(_ context.Context, _ *pmda.Request, n string) ([]string, error) {
		if n != "found.by" && n != name {
			return nil, pdu.ErrName
		}
		return []string{name}, nil
	}
	o.Desc = func(ctx context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
		if id == x {
			return pdu.Desc{PMID: x, Type: pdu.Type32, InDom: pdu.NoInDom, Sem: pdu.SemInstant}, nil
		}
		return o.Next.Desc(ctx, r, id)
	}
	o.Fetch = func(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
		for i, id := range ids {
			if id == x {
				w.Begin(x)
				w.Int32(pdu.NoInst, 5)
			} else if err := o.Next.Fetch(ctx, r, ids[i:i+1], w); err != nil {
				return err
			}
		}
		return nil
	}
	return a
}

func TestDynamicRoot(t *testing.T) {
	a := dynamicAgent()
	before := a.Namespace()
	must(t, a.AddDynamic("found.by"))
	var got []string
	for name, id := range a.Namespace().All() {
		got = append(got, name+" "+id.String())
	}
	if diff := cmp.Diff([]string{"found.all 251.0.0", "found.by 251.*.*"}, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if before == a.Namespace() {
		t.Error("the name space is the one before")
	}
	var w pdu.ResultWriter
	must(t, a.Fetch(t.Context(), request(), []pdu.PMID{pdu.MakePMID(251, 0, 0)}, &w))
	if w.Changed != pdu.ChangeNames {
		t.Errorf("the fetch tells of %v, want ChangeNames", w.Changed)
	}
	files, err := pmda.InstallFilesOf(a)
	must(t, err)
	if i := slices.IndexFunc(files, func(f pmda.InstallFile) bool { return f.Name == "pmns" }); i < 0 || !strings.Contains(string(files[i].Data), "by\tFOUND:*:*") {
		t.Errorf("the name space to install lacks the root: %v", files)
	}
	pmdatest.Run(t, a)
}

// TestInstallDynamicTop: the files of an agent that has names below a dynamic root without a dot
// lead to it.
func TestInstallDynamicTop(t *testing.T) {
	a := dynamicAgent()
	must(t, a.AddDynamic("lost"))
	files, err := pmda.InstallFilesOf(a)
	must(t, err)
	dir := t.TempDir()
	for _, f := range files {
		must(t, os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o666))
		if want := "root {\n\tlost\tFOUND:*:*\n}\n"; f.Name == "pmns.lost" && string(f.Data) != want { // as pmnsadd takes it
			t.Errorf("pmns.lost is %q, want %q", f.Data, want)
		}
	}
	tree, err := pmns.Load(filepath.Join(dir, "root"))
	must(t, err)
	if !tree.Equal(a.Namespace()) {
		t.Errorf("the name space to install is %v, want %v", maps.Collect(tree.All()), maps.Collect(a.Namespace().All()))
	}
}

func TestDynamicRootRefused(t *testing.T) {
	for _, c := range []struct{ root, want string }{
		{"found.by", "it has been added already"},
		{"found.all", "the name is in use"},
		{"found", "there are names below it"},
		{"found.all.x", "is a metric"},
		{"found.by.x", "it is below another dynamic root"},
		{"", "its last component is empty"},
		{"found.7", "letters, digits and underscores"},
		{"event", "are reserved"},
	} {
		a := dynamicAgent()
		must(t, a.AddDynamic("found.by"))
		err := a.AddDynamic(c.root)
		if err == nil || !strings.Contains(err.Error(), c.want) || a.Err() == nil {
			t.Errorf("%q: %v (Err: %v), want %q", c.root, err, a.Err(), c.want)
		}
	}
}
