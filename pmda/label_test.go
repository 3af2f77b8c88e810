package pmda_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/remote"
)

// TestLabelTexts makes labels from Go values, some of them optional, in any number of texts.
func TestLabelTexts(t *testing.T) {
	type speed struct {
		Measure string `json:"measure"`
		Max     int    `json:"max,omitempty"`
	}
	const maxLabels = 254 // in a set
	many := func(n int) map[string]any {
		m := map[string]any{}
		for i := range n {
			m[fmt.Sprint("l", i)] = i
		}
		return m
	}
	long := func(n int) map[string]any { return map[string]any{"a": strings.Repeat("x", n)} }
	for _, c := range []struct {
		name, text, want string
	}{
		{"none", "", ""},
		{"nil map", pmda.LabelJSON(map[string]any(nil)) + pmda.LabelNotes(nil), ""},
		{"empty map", pmda.LabelJSON(map[string]any{}) + pmda.LabelNotes(struct{}{}), ""},
		{"map", pmda.LabelJSON(map[string]any{"b": 1, "a": []int{1, 2}}), `-1:{"a":[1,2],"b":1} 0x10 0x10`},
		{"typed map", pmda.LabelJSON(map[string]string{"a": "<&>"}), `-1:{"a":"<&>"} 0x10`},
		{"struct", pmda.LabelJSON(speed{"speed", 0}), `-1:{"measure":"speed"} 0x10`},
		{"notes", pmda.LabelNotes(speed{"speed", 3}), `-1:{"max":3,"measure":"speed"} 0x90 0x90`},
		{"both", pmda.LabelJSON(map[string]any{"z": 1}) + pmda.LabelNotes(map[string]any{"a": true}), `-1:{"a":true,"z":1} 0x90 0x10`},
		{"the last counts", `{"a":1,"b":2} optional {"a":3} {"c":{"d":4}} `, `-1:{"a":3,"b":2,"c.d":4} 0x90 0x10 0x50`},
		{"note replaced", `optional{"a":1}{"a":2}`, `-1:{"a":2} 0x10`},
		{"as many as can be", pmda.LabelJSON(many(200)) + pmda.LabelNotes(many(maxLabels)), "254 labels"},
		{"too many", pmda.LabelJSON(many(maxLabels + 1)), "error: Labels: more than 254 labels: Argument list too long"},
		{"too many in two", `{"x":1}` + pmda.LabelJSON(many(maxLabels)), "error: Labels `{\"x\":1}{\"l0\":0,\"l1\":1,\"l10\":10,\"l100\":100,\"l101\":101,\"l102\":`...: labels: more than 254 labels or 65534 bytes of JSON: Argument list too long"},
		{"as long as can be", pmda.LabelJSON(long(pdu.MaxLabelJSON - 8)), "1 labels"},
		{"too long", pmda.LabelJSON(long(pdu.MaxLabelJSON - 7)), "error: Labels: 65535 bytes of JSON, limit 65534: Argument list too long"},
		{"bad name", pmda.LabelJSON(map[string]any{"9": 1}), `error: Labels: bad name "9": Invalid argument`},
		{"bad name among others", pmda.LabelJSON(map[string]any{"a-b": 1, "c": 2}), "error: Labels `{\"a-b\":1,\"c\":2}`: labels: bad name \"a-b\": Invalid argument"},
		{"bad note", `{"a":1}` + pmda.LabelNotes(map[string]any{"9": 1}), "error: Labels `{\"a\":1}labels: bad name \"9\": Invalid argument`: labels: bad name \"9\": Invalid argument: Bad value for function argument"},
		{"no object", pmda.LabelJSON(5), "error: Labels: "},
		{"no JSON", pmda.LabelNotes(func() {}), "error: Labels: "},
		{"rest", `{"a":1} x`, "error: Labels `{\"a\":1} x`: labels: "},
		{"optional nothing", `{"a":1} optional`, "error: Labels `{\"a\":1} optional`: labels: "},
		{"optional array", `optional []`, "error: Labels `optional []`: labels: "},
	} {
		a := &pmda.Agent{Name: "x", Domain: 400}
		err := pmda.Register(a, pmda.Metric[int32]{Name: "x.y", Labels: c.text, Value: always[int32](1)})
		if want, ok := strings.CutPrefix(c.want, "error: "); ok {
			if prefix := `pmda: agent x: register "x.y": ` + want; err == nil || !strings.HasPrefix(err.Error(), prefix) {
				t.Errorf("%s: %v\nwant %s", c.name, err, prefix)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		sets, err := a.Labels(t.Context(), request(), pdu.LabelReq{Ident: uint32(pdu.MakePMID(400, 0, 0)), Class: pdu.LabelItem}.Target())
		got := labelText(sets)
		if strings.HasSuffix(c.want, " labels") {
			got = fmt.Sprintf("%d labels", len(sets[0].Labels))
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %.200s (%v)\nwant %s", c.name, got, err, c.want)
		}
	}
}

// TestLabelsOf checks that the labels of LabelsOf are added to those of the tables, and override
// equal names.
func TestLabelsOf(t *testing.T) {
	var log bytes.Buffer
	changed := "false"
	a := &pmda.Agent{Name: "x", Domain: 400, ClusterLabels: map[int]string{0: `{"cluster":"zero"}`},
		Logger: slog.New(slog.NewTextHandler(&log, nil))}
	a.LabelsOf = func(_ context.Context, r *pmda.Request, of pdu.LabelTarget) string {
		switch of.Class {
		case pdu.LabelDomain:
			return `{"client":` + fmt.Sprint(r.Client.Seq) + `}`
		case pdu.LabelCluster:
			return pmda.LabelJSON(map[string]any{"cluster": of.PMID().Cluster()})
		case pdu.LabelItem:
			return `optional{"changed":` + changed + `}`
		}
		return ""
	}
	d := a.AddInDom("d", "one")
	d.Labels = `{"of":"domain"}`
	register(t, a, pmda.Metric[int32]{Name: "x.y", InDom: d, Labels: `{"a":1}`, Value: always[int32](1)})
	y := uint32(pdu.MakePMID(400, 0, 0))
	labels := func(ident uint32, class pdu.LabelClass) string {
		sets, err := a.Labels(t.Context(), request(), pdu.LabelReq{Ident: ident, Class: class}.Target())
		if err != nil {
			return err.Error()
		}
		return labelText(sets)
	}
	for _, c := range []struct {
		ident uint32
		class pdu.LabelClass
		want  string
	}{
		{400, pdu.LabelDomain, `-1:{"client":1} 0x2`},
		{y, pdu.LabelCluster, `-1:{"cluster":0} 0x8`},
		{y, pdu.LabelItem, `-1:{"a":1,"changed":false} 0x10 0x90`},
		{uint32(d.ID()), pdu.LabelInDom, `-1:{"of":"domain"} 0x4`},
		{uint32(d.ID()), pdu.LabelInstances, `0:`},
	} {
		if got := labels(c.ident, c.class); got != c.want {
			t.Errorf("%v: %s, want %s", c.class, got, c.want)
		}
	}
	changed = "true"
	if got, want := labels(y, pdu.LabelItem), `-1:{"a":1,"changed":true} 0x10 0x90`; got != want {
		t.Errorf("changed: %s, want %s", got, want)
	}
	if log.Len() > 0 {
		t.Errorf("log: %s", &log)
	}
	for range 2 {
		changed = `9`
		a.LabelsOf = func(context.Context, *pmda.Request, pdu.LabelTarget) string { return `{"9":1,"_b":2}` }
		if got, want := labels(y, pdu.LabelItem), `-1:{"_b":2,"a":1} 0x10 0x10`; got != want {
			t.Errorf("beside a bad name: %s, want %s", got, want)
		}
	}
	if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), `bad name`) {
		t.Errorf("log: %s", &log)
	}
	a.LabelsOf = func(context.Context, *pmda.Request, pdu.LabelTarget) string { return `{"9":1}` }
	_, err := a.Labels(t.Context(), request(), pdu.LabelReq{Ident: 400, Class: pdu.LabelDomain}.Target())
	if !errors.Is(err, syscall.EINVAL) {
		t.Errorf("bad names alone: %v", err)
	}
}

// sampleLabels is an agent with some of the metrics of PCP's sample agent, and their labels.
func sampleLabels(t *testing.T) *pmda.Agent {
	a := &pmda.Agent{Name: "sample", Domain: 29, ClusterLabels: map[int]string{0: `{"cluster":"zero"}`},
		DomainLabels: pmda.LabelJSON(map[string]any{"agent": "sample", "role": "testing"})}
	changed := false
	a.LabelsOf = func(_ context.Context, _ *pmda.Request, of pdu.LabelTarget) string {
		if of.Class == pdu.LabelItem && of.PMID().Item() == 36 {
			return pmda.LabelNotes(map[string]any{"changed": changed})
		}
		return ""
	}
	colour := &pmda.InDom{Name: "colour", Serial: pmda.InDomSerial(1), Labels: pmda.LabelJSON(map[string]any{"model": "RGB"})}
	bin := &pmda.InDom{Name: "bin", Serial: pmda.InDomSerial(2),
		InstanceLabels: func(i pdu.Instance) string { return pmda.LabelJSON(map[string]any{"bin": i.ID}) }}
	must(t, a.Attach(colour), a.Attach(bin), setNames(colour, "red", "green", "blue"))
	var bins []pdu.Instance
	for i := range 9 {
		bins = append(bins, pdu.Instance{ID: pdu.InstID(100 * (i + 1)), Name: fmt.Sprintf("bin-%d00", i+1)})
	}
	if _, err := bin.SetInstances(bins...); err != nil {
		t.Fatal(err)
	}
	register(t, a, pmda.Metric[int32]{Name: "sample.colour", ID: pmda.Item(0, 5), InDom: colour, Value: always[int32](1)})
	register(t, a, pmda.Metric[int32]{Name: "sample.bin", ID: pmda.Item(0, 6), InDom: bin, Value: always[int32](1)})
	register(t, a, pmda.Metric[int32]{Name: "sample.write_me", ID: pmda.Item(0, 36), Value: always[int32](2),
		Store: func(context.Context, *pmda.Request, pdu.Instance, int32) error {
			changed = true
			a.Notify(pdu.ChangeLabels)
			return nil
		}})
	register(t, a, pmda.Metric[uint32]{Name: "sample.rapid", ID: pmda.Item(0, 64), Value: always[uint32](1),
		Labels: `{"measure":"speed","units":"metres per second","unitsystem":"SI"}`})
	return a
}

const sampleNames = "root {\n\tsample\n}\nsample {\n\tcolour 29:0:5\n\tbin 29:0:6\n\twrite_me 29:0:36\n\trapid 29:0:64\n}\n"

// TestInteropLabelSets checks that our agent has the same labels and flags as a C agent.
func TestInteropLabelSets(t *testing.T) {
	pcptest.Need(t, filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "sample", "pmdasample"))
	ours := sampleLabels(t)
	theirs := startSample(t)
	write, rapid := pdu.MakePMID(29, 0, 36), pdu.MakePMID(29, 0, 64)
	r := request()
	compare := func() {
		t.Helper()
		for _, of := range []pdu.LabelTarget{
			pdu.LabelsOfDomain(29), pdu.LabelsOfInDom(pdu.MakeInDom(29, 1)), pdu.LabelsOfInDom(pdu.MakeInDom(29, 2)),
			pdu.LabelsOfCluster(write), pdu.LabelsOfCluster(pdu.MakePMID(29, 5, 36)), pdu.LabelsOfItem(write), pdu.LabelsOfItem(rapid),
			pdu.LabelsOfItem(pdu.MakePMID(29, 0, 5)), pdu.LabelsOfInstances(pdu.MakeInDom(29, 1)), pdu.LabelsOfInstances(pdu.MakeInDom(29, 2)),
		} {
			want, err1 := theirs.Labels(t.Context(), r, of)
			got, err2 := ours.Labels(t.Context(), r, of)
			if err1 != nil || err2 != nil {
				t.Errorf("%v: %v, %v", of, err1, err2)
			}
			if diff := cmp.Diff(labelText(want), labelText(got)); diff != "" {
				t.Errorf("%v (-C +ours):\n%s", of, diff)
			}
		}
	}
	compare()
	var w pdu.ResultWriter
	w.Begin(write)
	w.Int32(pdu.NoInst, 7)
	values, err := w.Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []pmda.Handler{theirs, ours} {
		if err := a.Store(t.Context(), r, values); err != nil {
			t.Fatal(err)
		}
	}
	compare()
}

// A pipeStream is the two pipes of an agent.
type pipeStream struct{ r, w *os.File }

func (p pipeStream) Read(b []byte) (int, error)         { return p.r.Read(b) }
func (p pipeStream) Write(b []byte) (int, error)        { return p.w.Write(b) }
func (p pipeStream) Close() error                       { return errors.Join(p.r.Close(), p.w.Close()) }
func (p pipeStream) SetReadDeadline(t time.Time) error  { return p.r.SetReadDeadline(t) }
func (p pipeStream) SetWriteDeadline(t time.Time) error { return p.w.SetWriteDeadline(t) }

// startSample starts PCP's sample agent.
func startSample(t *testing.T) *remote.Agent {
	t.Helper()
	in, w, err1 := os.Pipe()
	r, out, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "sample", "pmdasample"), "-d", "29", "-l", filepath.Join(t.TempDir(), "log"))
	cmd.Env, cmd.Stdin, cmd.Stdout = pcptest.Env(), in, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	out.Close()
	a, err := remote.New(t.Context(), pmda.Info{Name: "sample", Domain: 29}, pipeStream{r, w}, remote.Config{Timeout: -1, HelloTimeout: time.Minute})
	if err != nil {
		cmd.Process.Kill()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.Close()
		cmd.Wait()
	})
	return a
}

// contextLabels matches the labels of the host.
var contextLabels = regexp.MustCompile(`"(domainname|hostname|machineid)":"[^"]*",`)

// TestInteropLabels checks that the real pminfo shows the same labels for our agent and for a C
// agent under the real pmcd, even after a change.
func TestInteropLabels(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmstore")
	hosts := []string{
		pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"sample"}}).Host(),
		underPMCD(t, sampleLabels(t), sampleNames),
		underServer(t, sampleLabels(t)),
	}
	var outs []string
	for _, h := range hosts {
		s := ""
		for _, argv := range [][]string{
			{"pminfo", "-l", "sample.rapid", "sample.write_me", "sample.colour", "sample.bin"},
			{"pmstore", "sample.write_me", "7"},
			{"pminfo", "-l", "sample.write_me"},
		} {
			out, errs, status := pcptest.Run(t, nil, "", append([]string{argv[0], "-h", h}, argv[1:]...)...)
			s += fmt.Sprintf("%q %d\n%s%s", argv, status, out, errs)
		}
		outs = append(outs, contextLabels.ReplaceAllString(s, ""))
	}
	for i, out := range outs[1:] {
		if diff := cmp.Diff(outs[0], out); diff != "" {
			t.Errorf("%s (-C +ours):\n%s", []string{"pmcd", "ours"}[i], diff)
		}
	}
}
