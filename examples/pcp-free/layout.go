package main

import (
	"fmt"
	"io"

	"github.com/pcp-go/pcp/pdu"
)

// The metrics of a report.
const (
	physMem = iota
	free
	shared
	buffers
	cached
	highFree
	highTotal
	lowFree
	lowTotal
	swapFree
	swapTotal
	available
	slab
	metricCount
)

var metricNames = [metricCount]string{
	physMem:   "mem.physmem",
	free:      "mem.util.free",
	shared:    "mem.util.shmem",
	buffers:   "mem.util.bufmem",
	cached:    "mem.util.cached",
	highFree:  "mem.util.highFree",
	highTotal: "mem.util.highTotal",
	lowFree:   "mem.util.lowFree",
	lowTotal:  "mem.util.lowTotal",
	swapFree:  "mem.util.swapFree",
	swapTotal: "mem.util.swapTotal",
	available: "mem.util.available",
	slab:      "mem.util.slabReclaimable",
}

// valuesOf returns the values of the metrics in Kbyte, 0 for one that is missing or that is not a
// size.
func valuesOf(r *pdu.Result, descs []pdu.Desc) (v [metricCount]int64) {
	for m := range v {
		set := r.At(m)
		if set.Len() == 0 {
			continue
		}
		a := set.Atom(0, descs[m].Type)
		if descs[m].Units != pdu.SpaceKByte {
			a, _ = a.ConvertUnits(descs[m].Units, pdu.SpaceKByte) // 0 on failure
		}
		if n, err := pdu.As[uint64](a); err == nil {
			v[m] = int64(n)
		}
	}
	if v[lowTotal] == 0 {
		v[lowTotal], v[lowFree] = v[physMem], v[free]
	}
	return v
}

// A layout is the format of a report.
type layout struct {
	shift                     uint // of bytes, to get what is printed
	old, lowHigh, total, wide bool
}

// print prints a report. Like PCP's tool it prints the total of low memory in place of its free
// part.
func (l *layout) print(out io.Writer, v [metricCount]int64) {
	cache := v[cached] + v[slab]
	used := v[physMem] - v[free] - v[buffers] - cache
	headings := []string{"total", "used", "free", "shared", "buff/cache", "available"}
	memory := []int64{v[physMem], used, v[free], v[shared], v[buffers] + cache, v[available]}
	if l.wide {
		headings = []string{"total", "used", "free", "shared", "buffers", "cache", "available"}
		memory = []int64{v[physMem], used, v[free], v[shared], v[buffers], cache, v[available]}
	}
	for i, h := range headings {
		if i == 0 {
			fmt.Fprintf(out, "%19s", h)
		} else {
			fmt.Fprintf(out, " %11s", h)
		}
	}
	fmt.Fprintln(out)
	l.line(out, "Mem:", memory...)
	if l.lowHigh {
		l.line(out, "Low:", v[lowTotal], v[lowTotal]-v[lowFree], v[lowTotal])
		l.line(out, "High:", v[highTotal], v[highTotal]-v[highFree], v[highFree])
	}
	if l.old {
		l.line(out, "-/+ buffers/cache: ", used-v[buffers]-v[cached], v[free]+v[buffers]+v[cached])
	}
	l.line(out, "Swap", v[swapTotal], v[swapTotal]-v[swapFree], v[swapFree])
	if l.total {
		l.line(out, "Total", v[physMem]+v[swapTotal], used+v[swapTotal]-v[swapFree], v[free]+v[swapFree])
	}
}

// line prints values in Kbyte after a title.
func (l *layout) line(out io.Writer, title string, values ...int64) {
	fmt.Fprintf(out, "%-7s", title)
	for _, v := range values {
		fmt.Fprintf(out, " %11d", v<<10>>l.shift)
	}
	fmt.Fprintln(out)
}
