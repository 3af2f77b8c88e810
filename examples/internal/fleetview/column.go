// Package fleetview formats the output of the example fleet: the hosts of a pmapi.Fleet with the
// greatest values, and those with a problem.
package fleetview

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pcp-go/pcp/pmapi"
)

// A Column is a value of each host.
type Column struct {
	Label    string
	Metric   string
	Instance string // empty for a singular metric
	Expr     string // of a derived metric, which has the name Metric; empty for another
}

// Defaults returns the default columns: the load, and the used shares of CPUs and memory.
func Defaults() []Column {
	return []Column{
		{Label: "load", Metric: "kernel.all.load", Instance: "1 minute"},
		{Label: "cpu %", Metric: "fleet.cpu", Expr: "100 * (1 - rate(kernel.all.cpu.idle) / hinv.ncpu)"},
		{Label: "memory %", Metric: "fleet.memory", Expr: "100 * (1 - mem.util.available / mem.physmem)"},
	}
}

// ParseMetric parses the column of a metric, with an instance in brackets if it has instances.
func ParseMetric(text string) (Column, error) {
	spec, err := pmapi.ParseMetricSpec(text, pmapi.SourceHost, "")
	switch {
	case err != nil:
		return Column{}, err
	case spec.Source != "" || spec.Kind != pmapi.SourceHost:
		return Column{}, fmt.Errorf("%s: hosts are arguments of their own", text)
	case len(spec.Instances) > 1:
		return Column{}, fmt.Errorf("%s: more than one instance", text)
	}
	c := Column{Label: spec.Metric[strings.LastIndexByte(spec.Metric, '.')+1:], Metric: spec.Metric}
	if len(spec.Instances) > 0 {
		c.Instance = spec.Instances[0]
		c.Label += "[" + c.Instance + "]"
	}
	return c, nil
}

// ParseExpr parses the column of a derived metric: LABEL=EXPRESSION.
func ParseExpr(text string, n int) (Column, error) {
	label, expr, ok := strings.Cut(text, "=")
	label, expr = strings.TrimSpace(label), strings.TrimSpace(expr)
	if !ok || label == "" || expr == "" {
		return Column{}, fmt.Errorf("%s: want LABEL=EXPRESSION", text)
	}
	return Column{Label: label, Metric: fmt.Sprintf("fleet.column%d", n), Expr: expr}, nil
}

// Items are the items of one host, one for each column.
type Items []*pmapi.Item[float64]

// NewFleet makes a fleet that fetches columns. It has the options of d and adds the derived metrics
// to them.
func NewFleet(d *pmapi.Dialer, columns []Column) (*pmapi.Fleet[Items], error) {
	if d.Derived == nil {
		d.Derived = new(pmapi.Derived)
	}
	var errs []error
	for _, c := range columns {
		if c.Expr != "" {
			errs = append(errs, d.Derived.Define(c.Metric, c.Expr))
		}
	}
	return &pmapi.Fleet[Items]{Dialer: d, Items: func(g *pmapi.Group) Items {
		items := make(Items, len(columns))
		for i, c := range columns {
			var opts []pmapi.ItemOption
			if c.Instance != "" {
				opts = append(opts, pmapi.Instance(c.Instance))
			}
			items[i] = pmapi.Add[float64](g, c.Metric, opts...)
		}
		return items
	}}, errors.Join(errs...)
}
