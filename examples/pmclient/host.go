package main

import (
	"context"
	"fmt"
	"os"

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

// A host is what is looked at.
type host struct {
	pc    *pmapi.Context
	fatal func(format string, args ...any) // ends the program

	cpus       int // at least 1
	ids        []pdu.PMID
	descs      []pdu.Desc // of the metrics
	load1Inst  pdu.InstID
	load15Inst pdu.InstID
}

// find looks up what a sample needs. It ends the program if something is missing.
func (h *host) find(ctx context.Context) {
	ncpu := h.describe(ctx, "hinv.ncpu")
	var r pdu.Result
	h.fetch(ctx, []pdu.PMID{ncpu[0].PMID}, &r)
	n, ok := value[uint32](&r, 0, ncpu[0].Type)
	if !ok {
		h.fatal("pmFetch: no value of hinv.ncpu")
	}
	h.cpus = max(1, int(n))
	h.descs = h.describe(ctx, metricNames...)
	for _, d := range h.descs {
		h.ids = append(h.ids, d.PMID)
	}
	h.load1Inst, h.load15Inst = h.loadInst(ctx, "1 minute"), h.loadInst(ctx, "15 minute")
	h.pc.DelProfile(h.descs[load].InDom)
	h.pc.AddProfile(h.descs[load].InDom, h.load1Inst, h.load15Inst)
}

// describe looks up metrics.
func (h *host) describe(ctx context.Context, names ...string) []pdu.Desc {
	ids, err := h.pc.Lookup(ctx, names...)
	if unknown := missing(names, ids); len(unknown) == len(names) {
		fmt.Fprintf(os.Stderr, "pmclient: pmLookupName: %s\n", tool.Reason(err))
		last := len(unknown) - 1
		for _, name := range unknown[:last] {
			fmt.Fprintf(os.Stderr, "pmclient: metric \"%s\" not in name space\n", name)
		}
		h.fatal("metric \"%s\" not in name space", unknown[last])
	}
	var descs []pdu.Desc
	for i, id := range ids {
		d, err := h.pc.Desc(ctx, id)
		if err != nil {
			h.fatal("cannot retrieve description for metric \"%s\" (PMID: %v)\nReason: %s", names[i], id, tool.Reason(err))
		}
		descs = append(descs, d)
	}
	return descs
}

// missing are the names without a metric, all of them if there is no list of metrics.
func missing(names []string, ids []pdu.PMID) (unknown []string) {
	for i, name := range names {
		if ids == nil || ids[i] == pdu.NoPMID {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

func (h *host) loadInst(ctx context.Context, name string) pdu.InstID {
	id, err := h.pc.InstID(ctx, h.descs[load].InDom, name)
	if err != nil {
		h.fatal("cannot translate instance for %s load average", name)
	}
	return id
}

func (h *host) fetch(ctx context.Context, ids []pdu.PMID, r *pdu.Result) {
	if err := h.pc.Fetch(ctx, ids, r); err != nil {
		h.fatal("pmFetch: %s", tool.Reason(err))
	}
}

// sample fetches the metrics.
func (h *host) sample(ctx context.Context, r *pdu.Result) { h.fetch(ctx, h.ids, r) }

// value is the only value of a set.
func value[T pdu.Scalar](r *pdu.Result, set int, t pdu.Type) (v T, ok bool) {
	s := r.At(set)
	if s.Len() == 0 {
		return v, false
	}
	v, err := pdu.As[T](s.Atom(0, t))
	return v, err == nil
}
