package pmdalinux

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A fan is a line of /proc/fans, the file of the example in CONTRIBUTING.md.
type fan struct {
	speed, stalls     uint64
	hasSpeed, counted bool
}

// parseFans parses lines like "fan0 1200 7".
func parseFans(fans *instances[fan], text []byte) error {
	fans.Begin()
	for line := range procfile.Lines(text) {
		name, rest := procfile.CutField(line)
		f := fans.Row(name)
		f.speed, rest, f.hasSpeed = procfile.CutUint(rest)
		f.stalls, _, f.counted = procfile.CutUint(rest)
	}
	return fans.End()
}

// addFans adds the metrics of /proc/fans.
func (l *linux) addFans() {
	fans := &instances[fan]{indom: &pmda.InDom{Serial: pmda.InDomSerial(99), Name: "fan", Text: "Fans, by the kernel's names"}}
	fans.indom.Group = l.fileGroup("proc/fans", func(text []byte) error { return parseFans(fans, text) })
	l.Attach(fans.indom)
	pmda.Register(l.Agent, pmda.Metric[uint64]{
		Name: "hinv.fan.speed", ID: pmda.Item(99, 0), InDom: fans.indom,
		Text:   "Revolutions of each fan in a minute",
		Values: rowValues(fans, func(f *fan) (uint64, bool) { return f.speed, f.hasSpeed }),
	})
	pmda.Register(l.Agent, pmda.Metric[uint64]{
		Name: "hinv.fan.stalls", ID: pmda.Item(99, 1), InDom: fans.indom, Sem: pdu.SemCounter, Units: pdu.UnitCount,
		Text:   "Times that each fan has stalled",
		Values: rowValues(fans, func(f *fan) (uint64, bool) { return f.stalls, f.counted }),
	})
}

// TestFans compares the values of good and damaged files.
func TestFans(t *testing.T) {
	for _, tt := range []struct {
		name, file, want string
	}{
		{"two fans", "fan0 1200 7\nfan1 0 8\n", "speed[0]=1200 speed[1]=0 stalls[0]=7 stalls[1]=8"},
		{"none", "", ""},
		{"damaged", "fan0 x 7\nfan1 900\nfan0 5 6\nfan2 4 5", "speed[1]=900 stalls[0]=7"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "proc", "fans")
			if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(tt.file), 0o666)); err != nil {
				t.Fatal(err)
			}
			l := newLinux(Options{Root: filepath.Dir(filepath.Dir(path))})
			if l.addFans(); l.Err() != nil {
				t.Fatal(l.Err())
			}
			if diff := cmp.Diff(tt.want, strings.Join(fetchFans(t, l), " ")); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// fetchFans fetches both metrics.
func fetchFans(t *testing.T, l *linux) (values []string) {
	t.Helper()
	var w pdu.ResultWriter
	ids := []pdu.PMID{pdu.MakePMID(Domain, 99, 0), pdu.MakePMID(Domain, 99, 1)}
	if err := l.Fetch(t.Context(), &pmda.Request{Client: &pmda.Client{}, Profile: new(pdu.Profile)}, ids, &w); err != nil {
		t.Fatal(err)
	}
	r, err := w.Result()
	if err != nil {
		t.Fatal(err)
	}
	for i, set := range r.All() {
		for inst, v := range set.All(pdu.TypeU64) {
			values = append(values, fmt.Sprintf("%s[%d]=%v", []string{"speed", "stalls"}[i], inst, v))
		}
	}
	return values
}

// TestWorkedExample checks that this file has the code of the example in CONTRIBUTING.md.
func TestWorkedExample(t *testing.T) {
	text, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("worked_example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "## How to add a metric\n")
	n := 0
	for _, block := range strings.Split(example, "```go\n")[1:] {
		block, _, _ = strings.Cut(block, "```\n")
		for line := range strings.Lines(block) {
			n++
			if !strings.Contains("\n"+string(code), "\n"+line) {
				t.Errorf("not in worked_example_test.go: %s", line)
			}
		}
	}
	if n < 20 {
		t.Errorf("the example has %d lines", n)
	}
}
