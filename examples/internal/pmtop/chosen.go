package pmtop

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// A chosen is a metric that the user has asked for.
type chosen struct {
	name      string
	err       error // why it cannot be shown
	units     string
	instances []string // that the user named; nil for all
	format    func(float64) string
	numbers   *pmapi.Set[float64] // one of these two
	texts     *pmapi.Set[string]
}

// A valueRow is a value of a chosen metric.
type valueRow struct{ name, instance, value, units string }

// choose adds metrics at and below a name.
func choose(ctx context.Context, pc *pmapi.Context, g *pmapi.Group, spec pmapi.MetricSpec) ([]*chosen, error) {
	names, err := pc.Traverse(ctx, spec.Metric)
	if errors.Is(err, pdu.ErrName) {
		return []*chosen{{name: spec.Metric, err: tool.Cause(err)}}, nil
	} else if err != nil {
		return nil, err
	}
	ids, err := pc.Lookup(ctx, names)
	if bulk := (*pmapi.BulkError)(nil); err != nil && !errors.As(err, &bulk) {
		return nil, err
	}
	list := make([]*chosen, len(names))
	for i, name := range names {
		list[i] = &chosen{name: name, instances: spec.Instances, err: tool.Cause(pmapi.ErrorAt(err, i))}
		if list[i].err == nil {
			list[i].err = list[i].add(ctx, pc, g, ids[i])
		}
	}
	return list, nil
}

// add adds the metric to the group.
func (c *chosen) add(ctx context.Context, pc *pmapi.Context, g *pmapi.Group, id pdu.PMID) error {
	desc, err := pc.Desc(ctx, id)
	if err != nil {
		return tool.Cause(err)
	}
	switch desc.Type {
	case pdu.TypeString:
		c.texts = pmapi.AddSet[string](g, c.name)
		return nil
	case pdu.TypeAggregate, pdu.TypeAggregateStatic, pdu.TypeEvent, pdu.TypeHighResEvent:
		return pdu.ErrType
	}
	scale := ""
	scale, c.units, c.format = presentation(desc)
	c.numbers = add(g, c.name, scale)
	return nil
}

// presentation is how values of a metric are converted, what units they have then, and how they are formatted: bytes with a letter
// for their size, counters as rates, those of time as percentages.
func presentation(d pdu.Desc) (scale, units string, format func(float64) string) {
	u := d.Units
	isRate := d.Sem == pdu.SemCounter
	switch {
	case u.DimSpace() == 1 && u.DimTime() == 0 && u.DimCount() == 0 && isRate:
		return "byte / sec", "byte/s", size
	case u.DimSpace() == 1 && u.DimTime() == 0 && u.DimCount() == 0:
		return "byte", "byte", size
	case u.DimSpace() == 0 && u.DimTime() == 1 && u.DimCount() == 0 && isRate:
		return "%", "%", percent
	case isRate && (u == pdu.NoUnits || u == pdu.UnitCount):
		return "", "/s", count
	case isRate:
		return "", u.String() + " /s", count
	case u == pdu.NoUnits || u == pdu.UnitCount:
		return "", "", whole
	}
	return "", u.String(), whole
}

// read is what the group has fetched.
func (c *chosen) read() []valueRow {
	name := tool.EscapeName(c.name)
	err := c.err
	var rows []valueRow
	switch {
	case err != nil:
	case c.texts != nil:
		for i := range c.texts.Len() {
			inst, v, err := c.texts.At(i)
			rows = c.appendRow(rows, inst.Name, tool.EscapeName(v), err)
		}
		err = c.texts.Err()
	default:
		for i := range c.numbers.Len() {
			inst, v, err := c.numbers.At(i)
			rows = c.appendRow(rows, inst.Name, c.format(v), err)
		}
		err = c.numbers.Err()
	}
	if len(rows) == 0 {
		return []valueRow{{name: name, value: reason(err)}}
	}
	return rows
}

func (c *chosen) appendRow(rows []valueRow, instance, value string, err error) []valueRow {
	if c.instances != nil && !slices.ContainsFunc(c.instances, func(wanted string) bool { return isInstance(instance, wanted) }) {
		return rows
	}
	r := valueRow{name: tool.EscapeName(c.name), instance: tool.EscapeName(instance), value: value, units: c.units}
	if err != nil {
		r.value, r.units = reason(err), ""
	}
	return append(rows, r)
}

// isInstance reports whether an instance is that which the user means: by its name, or by its name up to the first space.
func isInstance(name, wanted string) bool {
	first, _, _ := strings.Cut(name, " ")
	return name == wanted || first == wanted
}

// reason is what stands in the place of a value: nothing but a sign if there will be one soon.
func reason(err error) string {
	if err == nil || errors.Is(err, pdu.ErrAgain) || errors.Is(err, pdu.ErrValue) {
		return missing
	}
	return tool.EscapeName(tool.Cause(err).Error())
}
