package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// A metric is what is looked at.
type metric struct {
	pc     *pmapi.Context
	name   string
	desc   pdu.Desc
	insts  []pdu.Instance // the columns, by their ids; nil for a singular metric
	chosen bool           // by name: others are of no interest
}

// find looks up the metric and its instances. It ends the program if that fails.
func (c *command) find(ctx context.Context, pc *pmapi.Context, spec pmapi.MetricSpec) *metric {
	m := &metric{pc: pc, name: spec.Metric}
	ids, err := pc.Lookup(ctx, m.name)
	if err != nil {
		c.Fatal("pmLookupName(%s): %s", m.name, tool.Reason(err))
	}
	if m.desc, err = pc.Desc(ctx, ids[0]); err != nil {
		c.Fatal("pmLookupDesc: %s", tool.Reason(err))
	}
	switch {
	case m.desc.InDom == pdu.NoInDom && len(spec.Instances) > 0:
		c.Fatal("%s: singular metrics do not have instances", m.name)
	case m.desc.InDom == pdu.NoInDom: // whatever -i says
	case len(spec.Instances) > 0:
		c.choose(ctx, m, spec.Instances)
	case c.instances != nil:
		c.choose(ctx, m, c.instances)
	default:
		if err := m.lookAgain(ctx); err != nil {
			c.Fatal("%v", err)
		}
	}
	return m
}

// choose makes columns of the instances that were named, and has only their values fetched. They are labelled as they
// were named. An empty list makes no column.
func (c *command) choose(ctx context.Context, m *metric, names []string) {
	m.chosen = true
	for _, name := range names {
		id, err := m.pc.InstID(ctx, m.desc.InDom, name)
		if err != nil {
			c.Fatal("instance %s not available", name)
		}
		m.insts = append(m.insts, pdu.Instance{ID: id, Name: name})
	}
	m.sort()
	for k, i := range m.insts {
		if k == 0 {
			m.pc.DelProfile(m.desc.InDom)
		}
		m.pc.AddProfile(m.desc.InDom, i.ID) // these two fail for no domain alone
	}
}

// lookAgain makes columns of all instances that there are now.
func (m *metric) lookAgain(ctx context.Context) (err error) {
	if m.insts, err = m.pc.Instances(ctx, m.desc.InDom); err != nil {
		return errors.New("pmGetInDom(" + m.desc.InDom.String() + "): " + tool.Reason(err))
	}
	m.sort()
	return nil
}

func (m *metric) sort() {
	slices.SortStableFunc(m.insts, func(a, b pdu.Instance) int { return cmp.Compare(a.ID, b.ID) })
}

// column is the place of an instance, less than 0 if there is none.
func (m *metric) column(id pdu.InstID) int {
	i, ok := slices.BinarySearchFunc(m.insts, id, func(a pdu.Instance, id pdu.InstID) int { return cmp.Compare(a.ID, id) })
	if !ok {
		return -1
	}
	return i
}

// strange reports whether there is a value of an instance without a column.
func (m *metric) strange(set pdu.ValueSet) bool {
	for i := range set.Len() {
		if m.column(set.Inst(i)) < 0 {
			return true
		}
	}
	return false
}

// store sets the metric, or all instances that are looked at. It ends the program if that fails.
func (c *command) store(ctx context.Context, m *metric) {
	value, err := tool.ParseValue(*c.filter, m.desc.Type)
	switch {
	case errors.Is(err, tool.ErrRange):
		c.Fatal("filter value \"%s\" is out of range for metric data type (PM_TYPE_%v)", *c.filter, m.desc.Type)
	case err != nil:
		c.Fatal("filter \"%s\" incompatible with metric type (PM_TYPE_%v)", *c.filter, m.desc.Type)
	}
	var w pdu.ResultWriter
	w.Begin(m.desc.PMID)
	for _, i := range m.insts {
		w.Atom(i.ID, value)
	}
	if m.desc.InDom == pdu.NoInDom {
		w.Atom(pdu.NoInst, value)
	}
	r, err := w.Result()
	if err == nil {
		err = m.pc.Store(ctx, r)
	}
	if err != nil {
		c.Fatal("store value \"%s\" failed: %s", *c.filter, tool.Reason(err))
	}
}

// splitInstances takes the argument of -i apart: names, with blanks or commas in between, or in quotes with whatever
// there is up to the closing one. A single byte behind that one is passed over, whatever it is.
func splitInstances(list string) (names []string) {
	const between = " \t\n\v\f\r,"
	end := func(s string) int {
		if i := strings.IndexAny(s, between); i >= 0 {
			return i
		}
		return len(s)
	}
	for list = strings.TrimLeft(list, between); list != ""; list = strings.TrimLeft(list, between) {
		name, rest := list[:end(list)], list[end(list):]
		if quote := list[0]; quote == '"' || quote == '\'' {
			name, rest, _ = strings.Cut(list[1:], string(quote))
			rest = rest[min(1, len(rest)):]
		}
		names = append(names, name)
		list = rest
	}
	return names
}
