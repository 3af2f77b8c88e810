package pmstat

import (
	"context"
	"errors"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// The metrics of a row.
const (
	load = iota
	swapUsed
	memFree
	memBuffers
	memCached
	pagesIn
	pagesOut
	blocksIn
	blocksOut
	interrupts
	switches
	cpuNice
	cpuUser
	cpuIntr
	cpuSys
	cpuIdle
	cpuWait
	cpuSteal
	cpuGuest
	cpuGuestNice
	metricCount
)

// metricNames are the names of the metrics. A fallback replaces a metric that a host lacks.
var metricNames = [metricCount]struct{ name, fallback string }{
	load:       {name: "kernel.all.load"},
	swapUsed:   {name: "swap.used"},
	memFree:    {name: "mem.util.free"},
	memBuffers: {name: "mem.util.bufmem", fallback: "mem.bufmem"},
	memCached:  {name: "mem.util.cached"},
	pagesIn:    {name: "swap.pagesin", fallback: "swap.in"},
	pagesOut:   {name: "swap.pagesout", fallback: "swap.out"},
	blocksIn:   {name: "disk.all.blkread", fallback: "disk.all.read"},
	blocksOut:  {name: "disk.all.blkwrite", fallback: "disk.all.write"},
	interrupts: {name: "kernel.all.intr"},
	switches:   {name: "kernel.all.pswitch"},
	cpuNice:    {name: "kernel.all.cpu.nice"},
	cpuUser:    {name: "kernel.all.cpu.user"},
	cpuIntr:    {name: "kernel.all.cpu.intr"},
	cpuSys:     {name: "kernel.all.cpu.sys"},
	cpuIdle:    {name: "kernel.all.cpu.idle"},
	cpuWait:    {name: "kernel.all.cpu.wait.total"},
	cpuSteal:   {name: "kernel.all.cpu.steal"},

	cpuGuest:     {name: "kernel.all.cpu.guest"},
	cpuGuestNice: {name: "kernel.all.cpu.guest_nice"},
}

const loadInstance = "1 minute"

// A metric is one of the metrics of a source.
type metric struct {
	desc  pdu.Desc
	inst  pdu.InstID // NoInst for a singular metric
	slot  int        // among the ids; less than 0 if the source does not have it
	since int        // the first sample with values of this metric
}

// inKByte reports whether a metric's values are converted to Kbyte.
func inKByte(m int) bool { return m >= swapUsed && m <= memCached }

// find looks up the metrics, and reports whether the source has any.
func (s *source) find(ctx context.Context) bool {
	var names []string
	for _, n := range metricNames {
		names = append(names, n.name)
		if n.fallback != "" {
			names = append(names, n.fallback)
		}
	}
	known := s.describe(ctx, names)
	for m, n := range metricNames {
		s.metrics[m].slot = -1
		desc, ok := known[n.name]
		if ok = ok && s.add(ctx, m, desc); ok || n.fallback == "" {
			continue
		}
		if m == pagesIn || m == pagesOut {
			s.swapsProcesses = true
		}
		if desc, ok := known[n.fallback]; ok {
			s.add(ctx, m, desc)
		}
	}
	return len(s.ids) > 0
}

// describe returns the descriptors of those metrics that the source knows.
func (s *source) describe(ctx context.Context, names []string) map[string]pdu.Desc {
	known := map[string]pdu.Desc{}
	ids, _ := s.pc.Lookup(ctx, names)
	var found []pdu.PMID
	var foundNames []string
	for i, id := range ids {
		if id != pdu.NoPMID {
			found, foundNames = append(found, id), append(foundNames, names[i])
		}
	}
	if len(found) == 0 {
		return known
	}
	descs, _ := s.pc.Descs(ctx, found)
	for i, d := range descs {
		if d.PMID != pdu.NoPMID {
			known[foundNames[i]] = d
		}
	}
	return known
}

// add maps a metric of a row to a metric of the source. It reports whether that fits: it must be a
// number with the needed instance and units.
func (s *source) add(ctx context.Context, m int, d pdu.Desc) bool {
	if d.Type < 0 || d.Type > pdu.TypeDouble || (m == load) != (d.InDom != pdu.NoInDom) {
		return false
	}
	if _, err := pdu.Float64(1).ConvertUnits(d.Units, pdu.SpaceKByte); inKByte(m) && err != nil {
		return false
	}
	inst := pdu.NoInst
	if m == load {
		var err error
		if inst, err = findInstance(ctx, s.pc, d.InDom); err != nil {
			return false
		}
		// They fail for instances without a domain alone.
		_ = s.pc.DelProfile(d.InDom)
		_ = s.pc.AddProfile(d.InDom, inst)
	}
	s.metrics[m] = metric{desc: d, inst: inst, slot: len(s.ids)}
	s.ids = append(s.ids, d.PMID)
	return true
}

// findInstance finds the instance of the load. An archive may have it only at another time.
func findInstance(ctx context.Context, pc *pmapi.Context, d pdu.InDom) (pdu.InstID, error) {
	inst, err := pc.InstIDEver(ctx, d, loadInstance)
	if errors.Is(err, pdu.ErrNotArchive) {
		return pc.InstID(ctx, d, loadInstance)
	}
	return inst, err
}
