package report

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/changing"
)

// A stepper is a Printer that makes the next step of a changing source after each sample.
type stepper struct {
	src   *changing.Source
	steps []*changing.Step
	name  string // of the step whose sample comes next
	lines []string
}

func (p *stepper) Start(*Header) error  { return nil }
func (p *stepper) Update(*Header) error { return nil }
func (p *stepper) Rank([]Ranked) error  { return nil }
func (p *stepper) Resize(int)           {}
func (p *stepper) Finish() error        { return nil }

func (p *stepper) Print(s *Sample) error {
	line := p.name + ":"
	for _, values := range s.Values {
		line += " ["
		for _, v := range values {
			line += fmt.Sprintf(" %s%v", v.Inst.Name, v.Atom)
		}
		line += " ]"
	}
	p.lines = append(p.lines, line)
	if len(p.steps) > 0 {
		p.name = p.steps[0].Name
		p.steps[0].Do(p.src)
		p.steps = p.steps[1:]
	}
	return nil
}

// TestChangingSource reports metrics of a source that changes. Values stay in the units of the
// header.
func TestChangingSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := changing.New()
		pc := src.Context()
		defer pc.Close()
		p := &stepper{src: src, steps: changing.Steps(), name: "start"}
		o := NewOptions()
		o.Samples = len(p.steps) + 1
		var specs []Spec
		for _, name := range []string{changing.Latency, changing.Requests, changing.Queue} {
			specs = append(specs, Spec{Name: name, Width: Unset, Precision: Unset})
		}
		r, err := New(context.Background(), pc, o, specs, Times{})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Run(context.Background(), p); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"start: [ 7 ] [ ] [ in1 out2 ]",
			"nothing changes: [ 7 ] [ 1.000000e+01 ] [ in1 out2 ]",
			"other unit: [ 7 ] [ 1.000000e+01 ] [ in1 out2 ]",
			"nothing changes again: [ 7 ] [ 1.000000e+01 ] [ in1 out2 ]",
			"other type: [ 7 ] [ 1.000000e+01 ] [ in1 out2 ]",
			"other PMID: [ ] [ 1.000000e+01 ] [ in1 out2 ]",
			"another metric has the PMID: [ ] [ 1.000000e+01 ] [ in1 out2 ]",
			"no such name: [ ] [ 1.000000e+01 ] [ in1 out2 ]",
			"the name is back: [ ] [ 1.000000e+01 ] [ in1 out2 ]",
			"other instances: [ 7 ] [ 1.000000e+01 ] [ out3 retry4 ]",
			"counter begins again: [ 7 ] [ ] [ out3 retry4 ]",
			"counter goes on: [ 7 ] [ 1.000000e+01 ] [ out3 retry4 ]",
			"other labels: [ 7 ] [ 1.000000e+01 ] [ out3 retry4 ]",
			"clock set back: [ 7 ] [ ] [ out3 retry4 ]",
			"clock goes on: [ 7 ] [ 1.000000e+01 ] [ out3 retry4 ]",
			"clock jumps forward: [ 7 ] [ 2.777006e-03 ] [ out3 retry4 ]",
			"clock goes on again: [ 7 ] [ 1.000000e+01 ] [ out3 retry4 ]",
		}
		if diff := cmp.Diff(want, p.lines); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
