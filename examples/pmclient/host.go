package main

import (
	"context"
	"fmt"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// The metrics of a sample.
const (
	load = iota
	cpuUser
	cpuSys
	freeMem
	diskTotal
)

var metricNames = []string{
	load:      "kernel.all.load",
	cpuUser:   "kernel.percpu.cpu.user",
	cpuSys:    "kernel.percpu.cpu.sys",
	freeMem:   "mem.freemem",
	diskTotal: "disk.all.total",
}

// A host is the host of the report.
type host struct {
	pc      *pmapi.Context
	command *command

	cpus       int // at least 1
	ids        []pdu.PMID
	descs      []pdu.Desc // of the metrics
	load1Inst  pdu.InstID
	load15Inst pdu.InstID
}

// find looks up what a sample needs.
func (h *host) find(ctx context.Context) error {
	ncpu, err := h.describe(ctx, "hinv.ncpu")
	if err != nil {
		return err
	}
	var r pdu.Result
	if err := h.fetch(ctx, []pdu.PMID{ncpu[0].PMID}, &r); err != nil {
		return err
	}
	n, ok := singleValue[uint32](&r, 0, ncpu[0].Type)
	if !ok {
		return h.command.Errorf("pmFetch: no value of hinv.ncpu")
	}
	h.cpus = max(1, int(n))
	if h.descs, err = h.describe(ctx, metricNames...); err != nil {
		return err
	}
	for _, d := range h.descs {
		h.ids = append(h.ids, d.PMID)
	}
	find := h.pc.InstID
	if tool.IsArchive(h.pc) {
		find = h.pc.InstIDEver
	}
	for _, i := range []struct {
		name string
		id   *pdu.InstID
	}{{"1 minute", &h.load1Inst}, {"15 minute", &h.load15Inst}} {
		if *i.id, err = find(ctx, h.descs[load].InDom, i.name); err != nil {
			return h.command.Errorf("cannot translate instance for %s load average", i.name)
		}
	}
	h.pc.DelProfile(h.descs[load].InDom)
	h.pc.AddProfile(h.descs[load].InDom, h.load1Inst, h.load15Inst)
	return nil
}

// rewind goes to the start of an archive's time window. As in pmclient(1), the sample there is not used and -O has no effect.
func (h *host) rewind(ctx context.Context, interval time.Duration) error {
	if err := h.pc.SetMode(ctx, pmapi.ModeInterp, h.command.Begin, interval.Truncate(time.Millisecond)); err != nil {
		return h.command.Errorf("pmSetMode: %w", tool.Cause(err))
	}
	return h.fetch(ctx, h.ids, new(pdu.Result))
}

// describe looks up metrics.
func (h *host) describe(ctx context.Context, names ...string) ([]pdu.Desc, error) {
	ids, err := h.pc.Lookup(ctx, names)
	alone := len(names) == 1 || !tool.IsArchive(h.pc) // in archives pmLookupName(3) fails for one name alone
	if unknown := unknownNames(names, ids); alone && len(unknown) == len(names) {
		message := fmt.Sprintf("pmclient: pmLookupName: %v\n", tool.Cause(err))
		for _, name := range unknown {
			message += fmt.Sprintf("pmclient: metric \"%s\" not in name space\n", name)
		}
		return nil, &tool.ExitError{Status: 1, Message: message, Err: err}
	}
	var descs []pdu.Desc
	for i, id := range ids {
		d, err := h.pc.Desc(ctx, id)
		if err != nil {
			return nil, h.command.Errorf("cannot retrieve description for metric \"%s\" (PMID: %v)\nReason: %w", names[i], id, tool.Cause(err))
		}
		descs = append(descs, d)
	}
	return descs, nil
}

// unknownNames returns the names without a metric, all of them if there is no list of metrics.
func unknownNames(names []string, ids []pdu.PMID) (unknown []string) {
	for i, name := range names {
		if ids == nil || ids[i] == pdu.NoPMID {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

func (h *host) fetch(ctx context.Context, ids []pdu.PMID, r *pdu.Result) error {
	if err := h.pc.Fetch(ctx, ids, r); err != nil {
		return h.command.Errorf("pmFetch: %w", tool.Cause(err))
	}
	return nil
}

// singleValue is the first value of a set, the only one of a singular metric.
func singleValue[T pdu.Scalar](r *pdu.Result, set int, t pdu.Type) (v T, ok bool) {
	s := r.At(set)
	if s.Len() == 0 {
		return v, false
	}
	v, err := pdu.As[T](s.Atom(0, t))
	return v, err == nil
}
