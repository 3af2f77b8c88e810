package pmdalinux

import (
	"context"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A vmKind is the semantics and units of a line of /proc/vmstat in the C agent.
type vmKind int

const (
	vmCounter      vmKind = iota // counted since the start of the kernel
	vmGauge                      // current value
	vmGaugeNoUnits               // the same, of the oldest metrics, which have no units
)

func (k vmKind) desc() (pdu.Sem, pdu.Units) {
	switch k {
	case vmCounter:
		return pdu.SemCounter, pdu.UnitCount
	case vmGauge:
		return pdu.SemInstant, pdu.UnitCount
	}
	return pdu.SemInstant, pdu.NoUnits
}

// vmstatPrefix is the prefix of the names of the metrics of /proc/vmstat.
const vmstatPrefix = "mem.vmstat."

// A vmstat is a metric of /proc/vmstat.
type vmstat struct {
	name string
	kind vmKind
	text string
}

// key returns the word at the start of the line.
func (m vmstat) key() string { return strings.TrimPrefix(m.name, vmstatPrefix) }

// addVMStat adds the metrics of /proc/vmstat.
func (l *linux) addVMStat() {
	stat, g := l.keyedFile("proc/vmstat")
	sums := vmSums(stat)
	for item, m := range vmstats {
		sem, units := m.kind.desc()
		key := m.key()
		of := sums[key]
		if of == nil {
			of = keyedNumber(stat, key)
		}
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: m.name, ID: pmda.Item(28, item), Group: g, Sem: sem, Units: units,
			Text: m.text, Value: of.value,
		})
	}
	l.addSwapping(g, stat)
}

// vmSums are numbers that are sums: over all lines of a kind that are metrics, and over the lines
// into which newer kernels have split a number.
func vmSums(stat *procfile.KeyedFile) map[string]number {
	sums := map[string]number{
		"nr_slab": keyedNumber(stat, "nr_slab").or(
			sum(keyedNumber(stat, "nr_slab_reclaimable"), keyedNumber(stat, "nr_slab_unreclaimable"))),
		"thp_split": keyedNumber(stat, "thp_split").or(
			sum(keyedNumber(stat, "thp_split_page"), keyedNumber(stat, "thp_split_page_failed"))),
	}
	for _, prefix := range []string{"pgscan_direct", "pgscan_kswapd", "pgsteal"} {
		total := prefix + "_total"
		var at []int
		for _, m := range vmstats {
			if key := m.key(); strings.HasPrefix(key, prefix) && !strings.HasSuffix(key, "_total") {
				at = append(at, stat.Index(key))
			}
		}
		sums[total] = sumOfKnown(stat, at)
	}
	return sums
}

// addSwapping adds the metrics of swapping. Kernels before 2.6 reported them in /proc/stat and
// swapped whole processes.
func (l *linux) addSwapping(g *pmda.Group, stat *procfile.KeyedFile) {
	for _, m := range []struct {
		item            int
		name, key, text string
	}{
		{8, "swap.pagesin", "pswpin", "Pages read from all swap devices"},
		{9, "swap.pagesout", "pswpout", "Pages written to all swap devices"},
	} {
		of := keyedNumber(stat, m.key)
		pmda.Register(l.Agent, pmda.Metric[uint32]{
			Name: m.name, ID: pmda.Item(0, m.item), Group: g, Sem: pdu.SemCounter, Units: pdu.UnitCount, Text: m.text,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
				if v, ok := of(); ok {
					return uint32(v), nil // wraps at 32 bits
				}
				return 0, pmda.NoValue
			},
		})
	}
	for i, m := range []struct{ name, direction string }{{"swap.in", "in"}, {"swap.out", "out"}} {
		pmda.Register(l.Agent, pmda.Metric[uint32]{
			Name: m.name, ID: pmda.Item(0, 10+i), Sem: pdu.SemCounter, Units: pdu.UnitCount,
			Text: "Processes swapped " + m.direction + " as a whole, which Linux has not done since version 2.4",
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
				return 0, pdu.ErrAppVersion
			},
		})
	}
}
