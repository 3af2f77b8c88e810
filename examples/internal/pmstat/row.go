package pmstat

import (
	"fmt"
	"io"
)

const nodeWidth = 7

// printRow prints the row of a source's latest sample. With several sources it starts with the name
// of the host.
func (r *report) printRow(s *source) {
	if v, ok := s.loadAverage(); ok {
		fmt.Fprintf(r.out, " %7.2f", v)
	} else {
		fmt.Fprintf(r.out, " %7s", "?")
	}
	for m := swapUsed; m <= memCached; m++ {
		if m != memBuffers || !r.several {
			printMemory(r.out, s, m)
		}
	}
	for m := pagesIn; m <= switches; m++ {
		printRate(r.out, s, m)
	}
	u, ok := s.percent()
	columns := []uint32{u.user, u.sys, u.idle, u.wait, u.steal, u.guest}
	if !r.extended {
		columns = columns[:3]
	}
	for _, v := range columns {
		if ok {
			fmt.Fprintf(r.out, " %3d", v)
		} else {
			fmt.Fprintf(r.out, " %3s", "?")
		}
	}
	fmt.Fprintln(r.out)
}

// printMemory prints an amount of memory with six digits of Kbyte, or in mega- or gigabytes.
func printMemory(w io.Writer, s *source, m int) {
	v, ok := numberOf[uint32](s, m)
	switch {
	case !ok:
		fmt.Fprintf(w, " %6s", "?")
	case v < 1_000_000:
		fmt.Fprintf(w, " %6d", v)
	case v>>10 < 100_000:
		fmt.Fprintf(w, " %5dm", v>>10)
	default:
		fmt.Fprintf(w, " %5dg", v>>20)
	}
}

// printRate prints a rate with four digits, or in thousands or millions.
func printRate(w io.Writer, s *source, m int) {
	v, ok := numberOf[uint32](s, m)
	switch {
	case !ok:
		fmt.Fprintf(w, " %4s", "?")
	case v < 10_000:
		fmt.Fprintf(w, " %4d", v)
	case v < 1_000_000:
		fmt.Fprintf(w, " %3dK", v/1000)
	default:
		fmt.Fprintf(w, " %3dM", v/1_000_000)
	}
}
