package pmval

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A metric is the metric of the report.
type metric struct {
	pc       *pmapi.Context
	name     string
	names    []string // of the instances that the operand names
	desc     pdu.Desc
	insts    []pdu.Instance // the columns, ordered by their numbers; nil for a singular metric
	selected bool           // the instances were selected by name, and the values of others are not printed
}

// find looks up the metric and its instances.
func (c *command) find(ctx context.Context, pc *pmapi.Context, spec pmapi.MetricSpec) (*metric, error) {
	m := &metric{pc: pc, name: spec.Metric, names: spec.Instances}
	ids, err := pc.Lookup(ctx, []string{m.name})
	if err != nil {
		return nil, pcptool.WithHint(c.Errorf("pmLookupName(%s): %w", m.name, pcptool.Cause(err)), c.NameHint(ctx, pc, m.name, err))
	}
	if m.desc, err = pc.Desc(ctx, ids[0]); err != nil {
		return nil, c.Errorf("pmLookupDesc: %w", pcptool.Cause(err))
	}
	return m, c.findInstances(ctx, m)
}

// findInstances makes the columns of a metric.
func (c *command) findInstances(ctx context.Context, m *metric) error {
	switch {
	case m.desc.InDom == pdu.NoInDom && len(m.names) > 0:
		return c.Errorf("%s: singular metrics do not have instances", m.name)
	case m.desc.InDom == pdu.NoInDom: // -i is ignored
		m.insts, m.selected = nil, false
		return nil
	case len(m.names) > 0:
		return c.selectInstances(ctx, m, m.names)
	case c.instances != nil:
		return c.selectInstances(ctx, m, c.instances)
	}
	return c.refreshInstances(ctx, m)
}

// selectInstances makes a column for each named instance. An empty list makes no column.
func (c *command) selectInstances(ctx context.Context, m *metric, names []string) (err error) {
	m.selected = true
	m.insts, err = pcptool.SelectInstances(ctx, m.pc, m.desc.InDom, names)
	if err != nil {
		return c.Errorf("instance %s not available", names[len(m.insts)])
	}
	m.sortInstances()
	return nil
}

// refreshInstances makes a column for each current instance, or for each instance that an archive
// ever had.
func (c *command) refreshInstances(ctx context.Context, m *metric) (err error) {
	m.insts = nil // there may be millions: not both lists at once
	request := m.pc.Instances
	if pcptool.IsArchive(m.pc) {
		request = m.pc.InstancesEver
	}
	if m.insts, err = request(ctx, m.desc.InDom); err != nil {
		return c.Errorf("pmGetInDom(%v): %w", m.desc.InDom, pcptool.Cause(err))
	}
	for i := range m.insts {
		m.insts[i].Name = terminal.EscapeName(m.insts[i].Name)
	}
	m.sortInstances()
	return nil
}

func (m *metric) sortInstances() {
	slices.SortStableFunc(m.insts, func(a, b pdu.Instance) int { return cmp.Compare(a.ID, b.ID) })
}

// columnOf returns the index of an instance's column. ok is false if it has no column.
func (m *metric) columnOf(id pdu.InstID) (column int, ok bool) {
	return slices.BinarySearchFunc(m.insts, id, func(a pdu.Instance, id pdu.InstID) int { return cmp.Compare(a.ID, id) })
}

// allHaveColumns reports whether all instances of a set have a column.
func (m *metric) allHaveColumns(set pdu.ValueSet) bool {
	for i := range set.Len() {
		if _, ok := m.columnOf(set.Inst(i)); !ok {
			return false
		}
	}
	return true
}

// store stores the value of -x into all instances with a column.
func (c *command) store(ctx context.Context, m *metric) error {
	value, err := pdu.ParseAtom(*c.filter, m.desc.Type)
	switch {
	case errors.Is(err, pdu.ErrTrunc):
		return c.Errorf("filter value \"%s\" is out of range for metric data type (PM_TYPE_%v)", *c.filter, m.desc.Type)
	case err != nil:
		return c.Errorf("filter \"%s\" incompatible with metric type (PM_TYPE_%v)", *c.filter, m.desc.Type)
	}
	w := pdu.ResultWriter{Limit: pmapi.MaxStore}
	w.Begin(m.desc.PMID)
	for _, i := range m.insts {
		w.Atom(i.ID, value)
	}
	if m.desc.InDom == pdu.NoInDom {
		w.Atom(pdu.NoInst, value)
	}
	r, err := w.Result()
	if err == nil {
		err = r.At(0).Err()
	}
	if err == nil {
		err = m.pc.StoreResult(ctx, r)
	}
	if err != nil {
		return c.Errorf("store value \"%s\" failed: %w", *c.filter, pcptool.Cause(err))
	}
	return nil
}
