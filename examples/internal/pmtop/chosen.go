package pmtop

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A chosen is a metric that the user has selected.
type chosen struct {
	name      string
	err       error // why it cannot be shown
	desc      pdu.Desc
	units     string
	instances []string // that the user named; nil for all
	format    func(float64) string
	numbers   *pmapi.Set[float64] // one of these two
	texts     *pmapi.Set[string]
}

// A valueRow is a value of a chosen metric.
type valueRow struct{ name, instance, value, units string }

// choose looks up the metrics that the user has selected, if names have changed. A metric with the
// same descriptor as before stays in the group and keeps its rates. All others are added again.
func (s *sampler) choose(ctx context.Context) error {
	if !s.changed {
		return nil
	}
	var list []*chosen
	for _, spec := range s.specs {
		found, err := findChosen(ctx, s.pc, spec)
		if err != nil {
			return err
		}
		list = append(list, found...)
	}
	for i, c := range list {
		if at := slices.IndexFunc(s.chosen, c.isSame); at >= 0 {
			list[i] = s.chosen[at]
			s.chosen = slices.Delete(s.chosen, at, at+1)
		} else if c.err == nil {
			c.add(s.group)
		}
	}
	for _, c := range s.chosen {
		c.remove()
	}
	s.chosen, s.changed = list, false
	return nil
}

// findChosen looks up the metrics at and below a name.
func findChosen(ctx context.Context, pc *pmapi.Context, spec pmapi.MetricSpec) ([]*chosen, error) {
	names, err := pc.Traverse(ctx, spec.Metric)
	if errors.Is(err, pdu.ErrName) {
		return []*chosen{{name: spec.Metric, err: pcptool.Cause(err)}}, nil
	} else if err != nil {
		return nil, err
	}
	ids, err := pc.Lookup(ctx, names)
	if len(ids) != len(names) {
		return nil, err
	}
	descs, descErr := pc.Descs(ctx, ids)
	if len(descs) != len(names) {
		return nil, descErr
	}
	list := make([]*chosen, len(names))
	for i, name := range names {
		c := &chosen{name: name, instances: spec.Instances, desc: descs[i]}
		c.err = pcptool.Cause(cmp.Or(pmapi.ErrorAt(err, i), pmapi.ErrorAt(descErr, i)))
		if c.err == nil && c.desc.Type > pdu.TypeString {
			c.err = pdu.ErrType
		}
		list[i] = c
	}
	return list, nil
}

// isSame reports whether the group has the metric with the same descriptor.
func (c *chosen) isSame(old *chosen) bool {
	return c.err == nil && old.err == nil && old.name == c.name && old.desc == c.desc &&
		slices.Equal(old.instances, c.instances)
}

// add adds the metric to a group.
func (c *chosen) add(g *pmapi.Group) {
	if c.desc.Type == pdu.TypeString {
		c.texts = pmapi.AddSet[string](g, c.name)
		return
	}
	scale := ""
	scale, c.units, c.format = presentation(c.desc)
	c.numbers = add(g, c.name, scale)
}

// remove removes the metric from its group.
func (c *chosen) remove() {
	switch {
	case c.texts != nil:
		c.texts.Remove()
	case c.numbers != nil:
		c.numbers.Remove()
	}
}

// presentation returns the conversion, the units and the format of a metric's values: bytes have a
// letter for their size, counters are rates, and rates of times are percentages.
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

// read returns the values that the group has fetched.
func (c *chosen) read() []valueRow {
	name := terminal.EscapeName(c.name)
	err := c.err
	var rows []valueRow
	switch {
	case err != nil:
	case c.texts != nil:
		for i := range c.texts.Len() {
			inst, v, err := c.texts.At(i)
			rows = c.appendRow(rows, inst.Name, terminal.EscapeName(v), err)
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
	r := valueRow{name: terminal.EscapeName(c.name), instance: terminal.EscapeName(instance), value: value, units: c.units}
	if err != nil {
		r.value, r.units = reason(err), ""
	}
	return append(rows, r)
}

// isInstance reports whether wanted is the name of an instance, or its name up to the first space.
func isInstance(name, wanted string) bool {
	first, _, _ := strings.Cut(name, " ")
	return name == wanted || first == wanted
}

// reason returns the text in place of a missing value. It is only a sign if a value will follow
// soon.
func reason(err error) string {
	if err == nil || errors.Is(err, pdu.ErrAgain) || errors.Is(err, pdu.ErrValue) {
		return missing
	}
	return terminal.EscapeName(pcptool.Cause(err).Error())
}
