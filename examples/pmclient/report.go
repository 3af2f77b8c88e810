package main

import (
	"bufio"
	"fmt"
	"math"
	"time"
)

// pageLen is how many rows there are below a header.
const pageLen = 15

// A report is a table with headers.
type report struct {
	out  *bufio.Writer
	host string
	zone *time.Location
	cpus int // a single one is not compared with others
}

// header comes above every page; row n is the next.
func (r *report) header(n int, now time.Time) {
	if n%pageLen != 0 {
		return
	}
	fmt.Fprintf(r.out, "Host: %s, %d cpu(s), %s\n", r.host, r.cpus, now.In(r.zone).Format(time.ANSIC))
	busy := [2]string{"  Busy    Busy", "   CPU    Util"}
	if r.cpus == 1 {
		busy = [2]string{}
	}
	fmt.Fprintf(r.out, "  CPU%s  Free Mem   Disk     Load Average\n Util%s  (Mbytes)   IOPS    1 Min  15 Min\n", busy[0], busy[1])
}

func (r *report) row(u usage) {
	r.cell("", 5, 2, u.cpu)
	if r.cpus > 1 {
		r.cell("   ", 3, 0, float64(u.busiest))
		r.cell("   ", 5, 2, u.busy)
	}
	r.cell(" ", 9, 3, u.free)
	r.cell(" ", 6, 0, math.Trunc(u.iops))
	r.cell("  ", 7, 2, u.load1)
	r.cell("  ", 7, 2, u.load15)
	fmt.Fprintln(r.out)
}

// cell prints a number, or that there is none.
func (r *report) cell(before string, width, digits int, v float64) {
	if v >= 0 && !math.IsInf(v, 0) {
		fmt.Fprintf(r.out, "%s%*.*f", before, width, digits, v)
	} else {
		fmt.Fprintf(r.out, "%s%*s", before, width, "?")
	}
}
