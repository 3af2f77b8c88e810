package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"sort"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A job is the store that the command line requests.
type job struct {
	metric, text string
	insts        []string // none: all
	fetch, force bool
}

// An argumentError is an error of the command line for this metric.
type argumentError string

func (e argumentError) Error() string { return string(e) }

// failed returns the error of a step with PCP's text for its cause.
func failed(step string, err error) error { return fmt.Errorf("%s: %w", step, pcptool.Cause(err)) }

// find looks up the metric and checks that values of its type can be stored.
func (j *job) find(ctx context.Context, pc *pmapi.Context) (pdu.Desc, error) {
	ids, err := pc.Lookup(ctx, []string{j.metric})
	if err != nil {
		return pdu.Desc{}, failed(j.metric+": pmLookupName", err)
	}
	d, err := pc.Desc(ctx, ids[0])
	if err != nil {
		return d, failed(j.metric+": pmLookupDesc", err)
	}
	switch d.Type {
	case pdu.TypeAggregate, pdu.TypeAggregateStatic:
		return d, argumentError("pmstore: Cannot modify values for PM_TYPE_AGGREGATE metrics")
	case pdu.TypeEvent, pdu.TypeHighResEvent:
		return d, argumentError("pmstore: Cannot modify values for event type metrics")
	}
	return d, nil
}

// run stores the value and prints the old and the new value.
func (j *job) run(ctx context.Context, pc *pmapi.Context, out *bufio.Writer) error {
	d, err := j.find(ctx, pc)
	if err != nil {
		return err
	}
	selected, known, err := j.selectInstances(ctx, pc, d)
	if err != nil {
		return err
	}
	var before, after pdu.Result
	if err := pc.Fetch(ctx, []pdu.PMID{d.PMID}, &before); err != nil {
		return failed(j.metric+": pre pmFetch", err)
	}
	old := before.At(0)
	if old.Err() != nil {
		return failed(j.metric+": Error", old.Err())
	}
	v, err := j.parseValue(d.Type)
	if err != nil {
		return err
	}
	if old.Len() == 0 && !j.force {
		return errors.New(j.metric + ": No value(s) available!")
	}
	stored, err := j.store(ctx, pc, old, selected, v)
	if err != nil {
		return failed(fmt.Sprintf("%s: new value=\"%s\" pmStore", j.metric, j.text), err)
	}
	if j.fetch {
		if err := pc.Fetch(ctx, []pdu.PMID{d.PMID}, &after); err != nil {
			return failed(j.metric+": post pmFetch", err)
		}
		stored = &after
	}
	if d.InDom != pdu.NoInDom && known == nil {
		known, _ = pc.Instances(ctx, d.InDom) // without names, numbers are printed
	}
	before.SortInstances() // to be searched
	j.print(out, d, old, stored.At(0), pcptool.NewInstanceNames(known))
	return nil
}

// store stores a value in the instances that have a value, or in all selected instances if none has
// one.
func (j *job) store(ctx context.Context, pc *pmapi.Context, old pdu.ValueSet, selected []pdu.InstID, v pdu.Atom) (*pdu.Result, error) {
	w := pdu.ResultWriter{Limit: pmapi.MaxStore}
	w.Begin(old.PMID)
	for i := range old.Len() {
		w.Atom(old.Inst(i), v)
	}
	if old.Len() == 0 {
		for _, inst := range selected {
			w.Atom(inst, v)
		}
	}
	r, err := w.Result()
	if err == nil {
		err = r.At(0).Err()
	}
	if err != nil {
		return nil, err
	}
	return r, pc.StoreResult(ctx, r)
}

// selectInstances limits fetches to the instances of the options and returns them. Without the
// option it returns all instances with their names if they are needed. A singular metric has one
// instance.
func (j *job) selectInstances(ctx context.Context, pc *pmapi.Context, d pdu.Desc) (ids []pdu.InstID, all []pdu.Instance, err error) {
	insts, err := pcptool.SelectInstances(ctx, pc, d.InDom, j.insts)
	switch {
	case err != nil:
		return nil, nil, failed(fmt.Sprintf("pmLookupInDom %s[%s]", j.metric, j.insts[len(insts)]), err)
	case len(j.insts) > 0:
	case d.InDom == pdu.NoInDom:
		return []pdu.InstID{pdu.NoInst}, nil, nil
	case j.force:
		if all, err = pc.Instances(ctx, d.InDom); err != nil {
			return nil, nil, failed(j.metric+": pmGetInDom", err)
		}
		insts = all
	}
	ids = make([]pdu.InstID, len(insts))
	for i, inst := range insts {
		ids[i] = inst.ID
	}
	return ids, all, nil
}

// parseValue parses the value to store.
func (j *job) parseValue(t pdu.Type) (pdu.Atom, error) {
	v, err := pdu.ParseAtom(j.text, t)
	switch {
	case errors.Is(err, pdu.ErrTrunc):
		return v, argumentError(fmt.Sprintf("The value \"%s\" is out of range for the data type (PM_TYPE_%v)", j.text, t))
	case err != nil:
		return v, argumentError(fmt.Sprintf("The value \"%s\" is incompatible with the data type (PM_TYPE_%v)", j.text, t))
	}
	return v, nil
}

// print prints a line for each current value. The old values are sorted by instance.
func (j *job) print(out *bufio.Writer, d pdu.Desc, before, now pdu.ValueSet, names pcptool.InstanceNames) {
	var format pdu.ValueFormat
	for i := range now.Len() {
		inst := now.Inst(i)
		out.WriteString(j.metric)
		if d.InDom != pdu.NoInDom {
			if name, ok := names.Name(inst); ok {
				fmt.Fprintf(out, " inst [%d or \"%s\"]", inst, terminal.EscapeName(name))
			} else {
				fmt.Fprintf(out, " inst [%d]", inst)
			}
		}
		old := []byte(`"(none)"`)
		if k := sort.Search(before.Len(), func(k int) bool { return before.Inst(k) > inst }) - 1; k >= 0 && before.Inst(k) == inst {
			old = format.AppendValue(nil, before, k, d.Type)
		}
		fmt.Fprintf(out, " old value=%s new value=%s\n", old, format.AppendValue(nil, now, i, d.Type))
	}
}
