package pmdumplog

import (
	"errors"
	"fmt"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/pdu"
)

// printRecords prints the records of the time window that have values of the metrics ids, or all
// records if ids is empty.
func (d *dumper) printRecords(ids []pdu.PMID) error {
	c := d.set.Cursor()
	move := c.Next
	last := d.from // of the records that were read
	before := func(t time.Time) bool { return t.Before(last) }
	// If time steps back in the archive, its last record need not have its latest time.
	toEnd := d.endErr == nil && d.from.Equal(d.label.Start) && !d.until.Before(d.end)
	beyond := func(t time.Time) bool { return !toEnd && t.After(d.until) }
	err := c.SeekNext(d.from)
	if d.reverse {
		move, last = c.Prev, d.until
		before = func(t time.Time) bool { return t.After(last) }
		beyond = func(t time.Time) bool { return t.Before(d.from) }
		if err = d.seekLast(c); err != nil && d.endErr != nil {
			return nil // there is no end to start from, which has been reported
		}
	}
	first := true
	for err == nil {
		if err = move(); err != nil {
			break
		}
		if d.reverse && first {
			d.printf("\nLog finished at %s - dump in reverse order\n", c.Time().In(d.clock.Location).Format(time.ANSIC))
			first = false
		}
		if beyond(c.Time()) {
			return nil
		}
		if before(c.Time()) {
			continue // time steps back in the archive
		}
		last = c.Time()
		err = d.printRecord(c, ids)
	}
	if errors.Is(err, pdu.ErrEOL) {
		return nil
	}
	return fmt.Errorf("pmFetch: %w", pcptool.Cause(err))
}

// seekLast moves to after the last record of the time window. It ignores faults after the end of
// the archive.
func (d *dumper) seekLast(c *archive.Cursor) error {
	if d.endErr == nil && !d.until.Before(d.end) {
		return c.SeekEnd()
	}
	return c.SeekPrev(d.until)
}

// printRecord prints a record if it has values of one of the metrics.
func (d *dumper) printRecord(c *archive.Cursor, ids []pdu.PMID) error {
	switch {
	case len(ids) == 0:
	case c.Mark() && !d.marks, !c.Mark() && !c.Contains(ids...):
		return nil
	}
	r, err := c.Result()
	if err != nil {
		return err
	}
	d.use(c.Archive())
	d.pick(r, ids)
	b := append(d.buf[:0], '\n')
	if d.sizes {
		size := len(c.Record().Raw)
		if len(ids) > 0 && !c.Mark() {
			size = d.pickedLen()
		}
		b = fmt.Appendf(b, "[%d bytes]\n", size)
	}
	b = d.appendTime(b, c.Time())
	if c.Mark() {
		b = append(b, "  <mark>\n"...)
	} else {
		b = appendCount(b, len(d.picked))
		for _, s := range d.picked {
			b = d.appendSet(b, s, r.Time)
		}
	}
	d.buf = b
	_, err = d.out.Write(b)
	return err
}

// pick collects the sets of metrics in their order, or all sets without metrics.
func (d *dumper) pick(r *pdu.Result, ids []pdu.PMID) {
	d.picked = d.picked[:0]
	if len(ids) == 0 {
		for _, s := range r.All() {
			d.picked = append(d.picked, s)
		}
		return
	}
	for _, id := range ids {
		for _, s := range r.All() {
			if s.PMID == id {
				d.picked = append(d.picked, s)
				break
			}
		}
	}
}

// pickedLen returns the length of a record with only the picked sets.
func (d *dumper) pickedLen() int {
	const lengths, count = 2 * 4, 4
	timeLen := 8
	if d.label.Version >= 3 {
		timeLen = 12
	}
	d.sized.Reset()
	for _, s := range d.picked {
		d.sized.Copy(s)
	}
	return lengths + timeLen + count + d.sized.Size()
}

func appendCount(b []byte, n int) []byte {
	if n == 1 {
		return append(b, " 1 metric\n"...)
	}
	return fmt.Appendf(b, " %d metrics\n", n)
}
