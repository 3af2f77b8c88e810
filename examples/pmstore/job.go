package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// A job is what the command line asks for.
type job struct {
	metric, text string
	insts        []string // none: all
	fetch, force bool
}

// A badArgument is what is wrong with the command line for this metric.
type badArgument string

func (e badArgument) Error() string { return string(e) }

// failed is an error in the words of the tool: what went wrong with what, and the reason.
func failed(what string, err error) error { return errors.New(what + ": " + tool.Reason(err)) }

// find finds the metric, of which there has to be a type that can be stored.
func (j *job) find(ctx context.Context, pc *pmapi.Context) (pdu.Desc, error) {
	ids, err := pc.Lookup(ctx, j.metric)
	if err != nil {
		return pdu.Desc{}, failed(j.metric+": pmLookupName", err)
	}
	d, err := pc.Desc(ctx, ids[0])
	if err != nil {
		return d, failed(j.metric+": pmLookupDesc", err)
	}
	switch d.Type {
	case pdu.TypeAggregate, pdu.TypeAggregateStatic:
		return d, badArgument("pmstore: Cannot modify values for PM_TYPE_AGGREGATE metrics")
	case pdu.TypeEvent, pdu.TypeHighResEvent:
		return d, badArgument("pmstore: Cannot modify values for event type metrics")
	}
	return d, nil
}

// run stores the value and prints what was there before, and what is there now.
func (j *job) run(ctx context.Context, pc *pmapi.Context, out *bufio.Writer) error {
	d, err := j.find(ctx, pc)
	if err != nil {
		return err
	}
	chosen, err := j.choose(ctx, pc, d)
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
	v, err := j.value(d.Type)
	if err != nil {
		return err
	}
	if old.Len() == 0 && !j.force {
		return errors.New(j.metric + ": No value(s) available!")
	}
	stored, err := j.store(ctx, pc, old, chosen, v)
	if err != nil {
		return failed(fmt.Sprintf("%s: new value=\"%s\" pmStore", j.metric, j.text), err)
	}
	if j.fetch {
		if err := pc.Fetch(ctx, []pdu.PMID{d.PMID}, &after); err != nil {
			return failed(j.metric+": post pmFetch", err)
		}
		stored = &after
	}
	var known []pdu.Instance
	if d.InDom != pdu.NoInDom {
		known, _ = pc.Instances(ctx, d.InDom) // without names the numbers will do
	}
	j.print(out, d, old, stored.At(0), tool.InstNames(known))
	return nil
}

// store stores a value of the instances that have one, or of all that were chosen if none has.
func (j *job) store(ctx context.Context, pc *pmapi.Context, old pdu.ValueSet, chosen []pdu.InstID, v pdu.Atom) (*pdu.Result, error) {
	var w pdu.ResultWriter
	w.Begin(old.PMID)
	for i := range old.Len() {
		w.Atom(old.Inst(i), v)
	}
	if old.Len() == 0 {
		for _, inst := range chosen {
			w.Atom(inst, v)
		}
	}
	r, err := w.Result()
	if err != nil {
		return nil, err
	}
	return r, pc.Store(ctx, r)
}

// choose makes fetches return the instances that the options name. It returns them, or all there are; those of a metric
// without an instance domain are one.
func (j *job) choose(ctx context.Context, pc *pmapi.Context, d pdu.Desc) (insts []pdu.InstID, err error) {
	for _, name := range j.insts {
		inst, err := pc.InstID(ctx, d.InDom, name)
		if err != nil {
			return nil, failed(fmt.Sprintf("pmLookupInDom %s[%s]", j.metric, name), err)
		}
		insts = append(insts, inst)
	}
	switch {
	case len(insts) > 0:
		err = errors.Join(pc.DelProfile(d.InDom), pc.AddProfile(d.InDom, insts...))
		return insts, err
	case d.InDom == pdu.NoInDom:
		return []pdu.InstID{pdu.NoInst}, nil
	case !j.force:
		return nil, nil // who have values will do
	}
	all, err := pc.Instances(ctx, d.InDom)
	if err != nil {
		return nil, failed(j.metric+": pmGetInDom", err)
	}
	for _, inst := range all {
		insts = append(insts, inst.ID)
	}
	return insts, nil
}

// value is the value to store.
func (j *job) value(t pdu.Type) (pdu.Atom, error) {
	v, err := tool.ParseValue(j.text, t)
	switch {
	case errors.Is(err, tool.ErrRange):
		return v, badArgument(fmt.Sprintf("The value \"%s\" is out of range for the data type (PM_TYPE_%v)", j.text, t))
	case err != nil:
		return v, badArgument(fmt.Sprintf("The value \"%s\" is incompatible with the data type (PM_TYPE_%v)", j.text, t))
	}
	return v, nil
}

// print prints a line for each value that is there now.
func (j *job) print(out *bufio.Writer, d pdu.Desc, before, now pdu.ValueSet, names map[pdu.InstID]string) {
	var format pmapi.ValueFormat
	for i := range now.Len() {
		inst := now.Inst(i)
		out.WriteString(j.metric)
		if d.InDom != pdu.NoInDom {
			if name, ok := names[inst]; ok {
				fmt.Fprintf(out, " inst [%d or \"%s\"]", inst, name)
			} else {
				fmt.Fprintf(out, " inst [%d]", inst)
			}
		}
		old := []byte(`"(none)"`)
		for k := range before.Len() {
			if before.Inst(k) == inst {
				old = tool.AppendValue(nil, format, before, k, d.Type)
			}
		}
		fmt.Fprintf(out, " old value=%s new value=%s\n", old, tool.AppendValue(nil, format, now, i, d.Type))
	}
}
