package pmapi_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	changingsource "github.com/pcp-go/pcp/internal/changing"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// TestChangingSource reads a source that changes through a group: by name, through a derived
// metric, and as a set.
func TestChangingSource(t *testing.T) {
	ctx := t.Context()
	src := changingsource.New()
	c := src.Context()
	defer c.Close()
	if err := c.Derive(ctx, "twice", changingsource.Latency+" * 2"); err != nil {
		t.Fatal(err)
	}
	g := c.Group()
	latency := pmapi.Add[float64](g, changingsource.Latency, pmapi.Scale("millisec"))
	duration := pmapi.Add[time.Duration](g, changingsource.Latency)
	twice := pmapi.Add[float64](g, "twice", pmapi.Scale("millisec"))
	requests := pmapi.Add[float64](g, changingsource.Requests)
	queue := pmapi.AddSet[uint32](g, changingsource.Queue)
	standby := pmapi.AddSet[uint32](g, changingsource.Queue, pmapi.Where(pmapi.LabelIs("role", "standby")))
	if _, err := g.Fetch(ctx); err != nil {
		t.Fatal(err)
	}
	for _, step := range changingsource.Steps() {
		step.Do(src)
		if _, err := g.Fetch(ctx); err != nil {
			t.Errorf("%s: %v", step.Name, err)
		}
		// check compares a value with that of the step; less than 0 means no value. A metric that
		// has changed has no value at one fetch.
		check := func(what string, got float64, err error, want float64) {
			t.Helper()
			missed := step.Changes && errors.Is(err, pdu.ErrAgain)
			if missed || err == nil && got == want || err != nil && want < 0 {
				return
			}
			t.Errorf("%s: %s %v, %v, want %v", step.Name, what, got, err, want)
		}
		v, err := latency.Value()
		check("latency", v, err, step.Latency)
		d, err := duration.Value()
		check("duration", float64(d)/1e6, err, step.Latency)
		v, err = twice.Value()
		check("twice the latency", v, err, 2*step.Latency)
		v, err = requests.Value()
		check("requests", v, err, step.Requests)
		var queues []string
		for inst := range queue.All() {
			queues = append(queues, inst.Name)
		}
		if diff := cmp.Diff(step.Queues, queues); diff != "" {
			t.Errorf("%s: instances (-want +got):\n%s", step.Name, diff)
		}
		selected := 0
		for range standby.All() {
			selected++
		}
		if isStandby := step.Role == "standby"; isStandby != (selected == 2) || !isStandby && selected > 0 {
			t.Errorf("%s: %d instances with the label standby, the role is %s", step.Name, selected, step.Role)
		}
	}
}

// TestDerivedOperandIsBack asks a new connection for the descriptor of a derived metric between two
// fetches, when its operand is there again.
func TestDerivedOperandIsBack(t *testing.T) {
	ctx := t.Context()
	src := &pmapitest.Source{Start: changingsource.Start}
	other := pmapitest.Add(src, pmapitest.Metric[int32]{Name: "app.other"})
	operand := pmapitest.Add(src, pmapitest.Metric[int32]{Name: "app.n"})
	operand.Set(3)
	c := src.Context()
	defer c.Close()
	if err := c.Derive(ctx, "twice", "app.n * 2"); err != nil {
		t.Fatal(err)
	}
	ids, err := c.Lookup(ctx, []string{"twice"})
	if err != nil {
		t.Fatal(err)
	}
	ids = append(ids, other.Desc().PMID)
	value := func() (string, error) {
		t.Helper()
		r := new(pdu.Result)
		if err := c.Fetch(ctx, ids, r); err != nil {
			t.Fatal(err)
		}
		if err := r.At(0).Err(); err != nil {
			return "", err
		}
		return r.At(0).Atom(0, pdu.Type32).String(), nil
	}
	operand.Rename("app.m")
	_, _ = value() // with the value or without: the change comes with this fetch
	if got, err := value(); err == nil {
		t.Errorf("value %s of an unknown metric", got)
	}
	operand.Rename("app.n")
	if err := c.Reconnect(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Descs(ctx, ids); err != nil {
		t.Fatal(err)
	}
	if got, err := value(); got != "6" {
		t.Errorf("value %s, %v, want 6", got, err)
	}
}
