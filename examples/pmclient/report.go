package main

import (
	"bufio"
	"fmt"
	"math"
	"time"
)

// pageLen is the number of rows below a header.
const pageLen = 15

// A report is a table with headers.
type report struct {
	out     *bufio.Writer
	archive string // its name, empty for a collector
	host    string
	zone    *time.Location
	cpus    int // with one, the columns of the busiest are left out
}

// printHeader prints the header if row n is the first of a page.
func (r *report) printHeader(n int, now time.Time) {
	if n%pageLen != 0 {
		return
	}
	if r.archive != "" {
		fmt.Fprintf(r.out, "Archive: %s, ", r.archive)
	}
	fmt.Fprintf(r.out, "Host: %s, %d cpu(s), %s\n", r.host, r.cpus, now.In(r.zone).Format(time.ANSIC))
	busy := [2]string{"  Busy    Busy", "   CPU    Util"}
	if r.cpus == 1 {
		busy = [2]string{}
	}
	fmt.Fprintf(r.out, "  CPU%s  Free Mem   Disk     Load Average\n Util%s  (Mbytes)   IOPS    1 Min  15 Min\n", busy[0], busy[1])
}

func (r *report) printRow(u usage) {
	r.printCell("", 5, 2, u.cpu)
	if r.cpus > 1 {
		r.printCell("   ", 3, 0, float64(u.busiest))
		r.printCell("   ", 5, 2, u.busy)
	}
	r.printCell(" ", 9, 3, u.free)
	r.printCell(" ", 6, 0, math.Trunc(u.iops))
	r.printCell("  ", 7, 2, u.load1)
	r.printCell("  ", 7, 2, u.load15)
	fmt.Fprintln(r.out)
}

// printCell prints a number, or "?" for one that is negative, infinite or NaN.
func (r *report) printCell(before string, width, digits int, v float64) {
	if v >= 0 && !math.IsInf(v, 0) {
		fmt.Fprintf(r.out, "%s%*.*f", before, width, digits, v)
	} else {
		fmt.Fprintf(r.out, "%s%*s", before, width, "?")
	}
}
