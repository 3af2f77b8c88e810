package pcptool_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
	"github.com/pcp-go/pcp/pmapi/tool"
	"github.com/pcp-go/pcp/pmda/collector"
)

func TestOpenError(t *testing.T) {
	t.Setenv("PMCD_PORT", "many")
	t.Setenv("PMCD_CONNECT_TIMEOUT", "5")
	refused := func(d *pmapi.Dialer) {
		if d.ConnectTimeout.Seconds() != 5 {
			t.Errorf("connect time-out %v, want that of the environment", d.ConnectTimeout)
		}
		d.Socket = "/nosuch/socket"
	}
	for host, want := range map[string]string{
		"unix:": "pmx: ignored bad PMCD_PORT = 'many'\npmx: Cannot connect to PMCD on host \"unix:\": No such file or directory\n",
		"a@@b":  "pmx: ignored bad PMCD_PORT = 'many'\npmNewContext: bad host specification\na@@b\n  ^ -- unexpected terminal character\npmx: Cannot connect to PMCD on host \"a@@b\": Generic error, already reported above\n",
	} {
		var stderr strings.Builder
		c := &pcptool.Command{Name: "pmx", Stderr: &stderr}
		_, err := c.OpenSource(t.Context(), pmapi.SourceHost, host, refused)
		if status := c.Report(err); status != 1 {
			t.Errorf("%s: exit status %d", host, status)
		}
		if diff := cmp.Diff(want, stderr.String()); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", host, diff)
		}
		if op, ok := errors.AsType[*pmapi.OpError](err); !ok || op.Op != "dial" {
			t.Errorf("%s: %v does not wrap the error of pmapi", host, err)
		}
	}
}

func TestOpenArchiveError(t *testing.T) {
	var stderr strings.Builder
	c := &pcptool.Command{Name: "pmx", Stderr: &stderr}
	c.AddOptions("General options", c.Standard("archive")...)
	if _, err := c.Parse([]string{"-a", "nosuch/archive"}); err != nil {
		t.Fatal(err)
	}
	_, err := c.Open(t.Context())
	if status := c.Report(err); status != 1 || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got exit status %d of %v", status, err)
	}
	if diff := cmp.Diff("pmx: Cannot open archive \"nosuch/archive\": No such file or directory\n", stderr.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// writeArchive writes an archive of one value of m.x at a time.
func writeArchive(t *testing.T, base string, start time.Time, typ pdu.Type) {
	t.Helper()
	o := archive.WriterOptions{Label: archive.Label{Version: 3, Host: "web1", TimeZone: "UTC", Start: start}}
	w, err := o.Create(base)
	if err != nil {
		t.Fatal(err)
	}
	d := pdu.Desc{PMID: pdu.MakePMID(251, 0, 1), Type: typ, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
	if err := w.WriteMetric(archive.Metric{Desc: d, Names: []string{"m.x"}}); err != nil {
		t.Fatal(err)
	}
	sets := pdu.ResultWriter{Time: start}
	sets.Begin(d.PMID)
	sets.Uint32(pdu.NoInst, 1)
	if err := errors.Join(w.WriteSets(&sets), w.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestOpenDamagedArchives opens directories with archives that cannot be read together. A damaged
// one is named once, though it is opened again for the time window.
func TestOpenDamagedArchives(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	for _, test := range []struct {
		name   string
		typ    pdu.Type
		damage func(dir string) error
		stderr string
	}{
		{"stray file", pdu.TypeU32, func(dir string) error { return os.WriteFile(filepath.Join(dir, "x.meta"), nil, 0o666) },
			"pmx: Warning: DIR/x: the archive has no volume: Missing PCP archive log file\n"},
		{"empty volume", pdu.TypeU32, func(dir string) error { return os.Truncate(filepath.Join(dir, "b.0"), 0) },
			"pmx: Warning: DIR/b.0: record 0 at offset 0: 0 bytes, too short for a label: Empty archive log file\n"},
		{"changed type", pdu.Type32, func(string) error { return nil },
			"pmx: Cannot open archive \"DIR\": The type of a metric has changed in an archive\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, other := t.TempDir(), filepath.Join(t.TempDir(), "c")
			writeArchive(t, filepath.Join(dir, "a"), start, pdu.TypeU32)
			writeArchive(t, filepath.Join(dir, "b"), start.Add(time.Minute), test.typ)
			writeArchive(t, other, start, pdu.TypeU32)
			if err := test.damage(dir); err != nil {
				t.Fatal(err)
			}
			var stderr strings.Builder
			c := &pcptool.Command{Name: "pmx", Stderr: &stderr}
			c.AddOptions("General options", c.Standard("archive", "origin")...)
			if _, err := c.Parse([]string{"-a", dir, "-a", other}); err != nil {
				t.Fatal(err)
			}
			pc, err := c.OpenSource(t.Context(), pmapi.SourceArchive, dir)
			if err == nil {
				defer pc.Close()
				err = c.SetTimes(t.Context(), pc)
			}
			c.Report(err)
			if diff := cmp.Diff(test.stderr, strings.ReplaceAll(stderr.String(), dir, "DIR")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSelectInstances(t *testing.T) {
	src := &pmapitest.Source{}
	pmapitest.Add(src, pmapitest.Metric[float64]{Name: "shop.cache", InDom: src.InDom("pages", "images"),
		Value: func(time.Time, pdu.Instance) (float64, error) { return 1, nil }})
	pc := src.Context()
	ids, err := pc.Lookup(t.Context(), []string{"shop.cache"})
	if err != nil {
		t.Fatal(err)
	}
	d, err := pc.Desc(t.Context(), ids[0])
	if err != nil {
		t.Fatal(err)
	}
	fetched := func() (insts []pdu.InstID) {
		var r pdu.Result
		if err := pc.Fetch(t.Context(), ids, &r); err != nil {
			t.Fatal(err)
		}
		for i := range r.At(0).Len() {
			insts = append(insts, r.At(0).Inst(i))
		}
		slices.Sort(insts)
		return insts
	}
	for _, tt := range []struct {
		names   []string
		insts   []pdu.Instance
		err     error
		fetched []pdu.InstID // afterwards
	}{
		{names: nil, fetched: []pdu.InstID{0, 1}},
		{names: []string{"images", "nosuch", "pages"}, insts: []pdu.Instance{{ID: 1, Name: "images"}}, err: pdu.ErrInst, fetched: []pdu.InstID{0, 1}},
		{names: []string{"images"}, insts: []pdu.Instance{{ID: 1, Name: "images"}}, fetched: []pdu.InstID{1}},
		{names: []string{"images", "pages"}, insts: []pdu.Instance{{ID: 1, Name: "images"}, {ID: 0, Name: "pages"}}, fetched: []pdu.InstID{0, 1}},
	} {
		insts, err := pcptool.SelectInstances(t.Context(), pc, d.InDom, tt.names)
		if !errors.Is(err, tt.err) {
			t.Errorf("%q: got error %v, want %v", tt.names, err, tt.err)
		}
		type result struct {
			Insts   []pdu.Instance
			Fetched []pdu.InstID
		}
		if diff := cmp.Diff(result{tt.insts, tt.fetched}, result{insts, fetched()}); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.names, diff)
		}
	}
}

func TestInstanceNames(t *testing.T) {
	for _, tt := range []struct {
		insts []pdu.Instance
		want  map[pdu.InstID]string
	}{
		{nil, map[pdu.InstID]string{}},
		{[]pdu.Instance{{ID: 1, Name: "a"}, {ID: 3, Name: "b"}}, map[pdu.InstID]string{1: "a", 3: "b"}},
		{[]pdu.Instance{{ID: 3, Name: "a"}, {ID: 1, Name: "b"}, {ID: -2, Name: "c"}}, map[pdu.InstID]string{3: "a", 1: "b", -2: "c"}},
		{[]pdu.Instance{{ID: 3, Name: "a"}, {ID: 1, Name: "b"}, {ID: 3, Name: "c"}}, map[pdu.InstID]string{3: "c", 1: "b"}},
		{[]pdu.Instance{{ID: 1, Name: "a"}, {ID: 1, Name: "b"}}, map[pdu.InstID]string{1: "b"}},
	} {
		names, got := pcptool.NewInstanceNames(tt.insts), map[pdu.InstID]string{}
		for id := pdu.InstID(-5); id < 5; id++ {
			if name, ok := names.Name(id); ok {
				got[id] = name
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.insts, diff)
		}
	}
}

func TestLookup(t *testing.T) {
	src := &pmapitest.Source{}
	known := pmapitest.Add(src, pmapitest.Metric[float64]{Name: "shop.cache"})
	pc := src.Context()
	id, none := known.PMID, pdu.NoPMID
	for names, want := range map[string]struct {
		IDs []pdu.PMID
		Err error
	}{
		"shop.cache":             {IDs: []pdu.PMID{id}},
		"shop.cache shop.nosuch": {IDs: []pdu.PMID{id, none}},
		"shop shop.nosuch":       {IDs: []pdu.PMID{none, none}},
		"shop.nosuch":            {IDs: []pdu.PMID{none}, Err: pdu.ErrName},
		"shop":                   {IDs: []pdu.PMID{none}, Err: pdu.ErrNonLeaf},
	} {
		ids, err := pcptool.Lookup(t.Context(), pc, strings.Fields(names))
		if diff := cmp.Diff(want.IDs, ids); diff != "" || !errors.Is(err, want.Err) {
			t.Errorf("%s: got error %v, want %v, and PMIDs (-want +got):\n%s", names, err, want.Err, diff)
		}
	}
}

func TestMetricSpec(t *testing.T) {
	c := &pcptool.Command{Name: "pmx", Synopsis: "[options] metric"}
	c.AddOptions("General options", c.Standard("host")...)
	if _, err := c.Parse([]string{"-h", "web1"}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		operand string
		want    pmapi.MetricSpec
		message string
		err     error
	}{
		{operand: "a.b[c,d]", want: pmapi.MetricSpec{Source: "web1", Metric: "a.b", Instances: []string{"c", "d"}}},
		{operand: "web2:a.b", want: pmapi.MetricSpec{Source: "web2", Metric: "a.b"}},
		{operand: "/tmp/archive/a.b", message: "pmx: only one host or archive allowed\n" + c.Usage(), err: tool.ErrUsage},
		{operand: "@:a.b", message: "pmx: local contexts are not supported by this version\n", err: errors.ErrUnsupported},
		{operand: "a.b]", message: "a.b]\n   ^ -- unexpected character in metric name\n" + c.Usage(), err: tool.ErrUsage},
	} {
		spec, err := c.MetricSpec(tt.operand)
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: got error %v, want %v", tt.operand, err, tt.err)
		}
		if err == nil {
			if diff := cmp.Diff(tt.want, spec); diff != "" {
				t.Errorf("%s: (-want +got):\n%s", tt.operand, diff)
			}
			continue
		}
		if exit, ok := errors.AsType[*pcptool.ExitError](err); !ok || exit.Message != tt.message || exit.Status != 1 {
			t.Errorf("%s: got %+v, want message %q", tt.operand, err, tt.message)
		}
	}
}

func TestIdentify(t *testing.T) {
	srv := new(collector.Server)
	defer srv.Close()
	pc, err := pmapi.Local(t.Context(), srv)
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	pcptool.Identify(t.Context(), pc, []string{"pmx", "-s", "1", "a.b"})
	ids, err := pc.Lookup(t.Context(), []string{"pmcd.client.whoami"})
	if err != nil {
		t.Fatal(err)
	}
	var r pdu.Result
	if err := pc.Fetch(t.Context(), ids, &r); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range r.At(0).All(pdu.TypeString) {
		got = append(got, fmt.Sprint(a))
	}
	if len(got) != 1 || !strings.HasSuffix(got[0], ") pmx -s 1 a.b\"") {
		t.Errorf("pmcd.client.whoami is %q", got)
	}
}
