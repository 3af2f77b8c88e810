package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/examples/internal/pmcc"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
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

	cpus        int // at least 1
	metrics     pmcc.Metrics
	loads       [2]pdu.InstID // of loadNames; NoInst if they are not known
	loadMissing bool          // the last sample had no value of one of them
}

// A sample is the values that were fetched at one time.
type sample struct {
	pdu.Result
	descs []pdu.Desc // of the metrics
	loads [2]pdu.InstID
}

// The instances of the load, in the order of sample.loads.
var loadNames = [2]string{"1 minute", "15 minute"}

// find looks up the metrics of a sample.
func (h *host) find(ctx context.Context) error {
	ncpu, err := h.describe(ctx, "hinv.ncpu")
	if err != nil {
		return err
	}
	var r pdu.Result
	if err := h.pc.Fetch(ctx, []pdu.PMID{ncpu[0].PMID}, &r); err != nil {
		return h.fetchError(err)
	}
	n, ok := singleValue[uint32](r.At(0), ncpu[0].Type)
	if !ok {
		return h.command.Errorf("pmFetch: no value of hinv.ncpu")
	}
	h.cpus = max(1, int(n))
	h.metrics.Names = metricNames
	if h.metrics.Descs, err = h.describe(ctx, metricNames...); err != nil {
		return err
	}
	return h.findLoads(ctx)
}

// findLoads looks up the instances of the load.
func (h *host) findLoads(ctx context.Context) error {
	find := h.pc.InstID
	if pcptool.IsArchive(h.pc) {
		find = h.pc.InstIDEver
	}
	d := h.metrics.Descs[load].InDom
	for i, name := range loadNames {
		inst, err := find(ctx, d, name)
		if err != nil {
			h.loads = [2]pdu.InstID{pdu.NoInst, pdu.NoInst}
			return h.command.Errorf("cannot translate instance for %s load average", name)
		}
		h.loads[i] = inst
	}
	h.pc.DelProfile(d)
	h.pc.AddProfile(d, h.loads[:]...)
	return nil
}

// rewind goes to the start of an archive's time window. As in pmclient(1), the first sample is
// skipped and -O has no effect.
func (h *host) rewind(ctx context.Context, interval time.Duration) error {
	if err := h.pc.SetMode(ctx, pmapi.ModeInterp, h.command.Begin, interval.Truncate(time.Millisecond)); err != nil {
		return h.command.Errorf("pmSetMode: %w", pcptool.Cause(err))
	}
	return h.fetch(ctx, new(sample))
}

// describe looks up metrics.
func (h *host) describe(ctx context.Context, names ...string) ([]pdu.Desc, error) {
	ids, err := h.pc.Lookup(ctx, names)
	alone := len(names) == 1 || !pcptool.IsArchive(h.pc) // in archives pmLookupName(3) fails for one name alone
	if unknown := unknownNames(names, ids); alone && len(unknown) == len(names) {
		message := fmt.Sprintf("pmclient: pmLookupName: %v\n", pcptool.Cause(err))
		for _, name := range unknown {
			message += fmt.Sprintf("pmclient: metric \"%s\" not in name space\n", name)
		}
		return nil, &pcptool.ExitError{Status: 1, Message: message, Err: err}
	}
	var descs []pdu.Desc
	for i, id := range ids {
		d, err := h.pc.Desc(ctx, id)
		if err != nil {
			return nil, h.command.Errorf("cannot retrieve description for metric \"%s\" (PMID: %v)\nReason: %w", names[i], id, pcptool.Cause(err))
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

// fetch fetches a sample. Metrics and instances that have changed are looked up again.
func (h *host) fetch(ctx context.Context, s *sample) error {
	if h.loadMissing {
		_ = h.findLoads(ctx) // on failure, the load is unknown
	}
	if err := h.metrics.Fetch(ctx, h.pc, &s.Result); err != nil {
		return h.fetchError(err)
	}
	if s.Changed.AffectsNames() {
		_ = h.findLoads(ctx)
	}
	s.descs, s.loads = h.metrics.Descs, h.loads
	h.loadMissing = math.IsNaN(s.load(0)) || math.IsNaN(s.load(1))
	return nil
}

func (h *host) fetchError(err error) error {
	return h.command.Errorf("pmFetch: %w", pcptool.Cause(err))
}

// singleValue returns the first value of a set, the only one of a singular metric.
func singleValue[T pdu.Scalar](s pdu.ValueSet, t pdu.Type) (v T, ok bool) {
	if s.Len() == 0 {
		return v, false
	}
	v, err := pdu.As[T](s.Atom(0, t))
	return v, err == nil
}
