package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// printRecords prints the records of the time window that have values of metrics, or of any if there are none.
func (d *dumper) printRecords(ids []pdu.PMID) error {
	c := d.set.Cursor()
	move := c.Next
	before := func(t time.Time) bool { return t.Before(d.from) }
	beyond := func(t time.Time) bool { return t.After(d.until) }
	err := c.SeekNext(d.from)
	if d.reverse {
		move = c.Prev
		before, beyond = beyond, before
		if err = d.seekLast(c); err != nil && d.endErr != nil {
			return nil // there is no end to start from, which has been reported
		}
	}
	first := true
	for err == nil {
		if err = move(); err != nil {
			break
		}
		if beyond(c.Time()) {
			return nil
		}
		if before(c.Time()) {
			continue // time has gone backwards in the archive
		}
		if d.reverse && first {
			d.printf("\nLog finished at %s - dump in reverse order\n", c.Time().In(d.clock.Location).Format(time.ANSIC))
			first = false
		}
		err = d.printRecord(c, ids)
	}
	if errors.Is(err, pdu.ErrEOL) {
		return nil
	}
	return fmt.Errorf("pmFetch: %w", tool.Cause(err))
}

// seekLast moves to after the last record of the time window. What is wrong after the end of the archive does not matter.
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
	b := append(d.buf[:0], '\n')
	if d.sizes {
		b = fmt.Appendf(b, "[%d bytes]\n", len(c.Record().Raw))
	}
	b = d.appendTime(b, c.Time())
	if c.Mark() {
		b = append(b, "  <mark>\n"...)
	} else {
		b = d.appendSets(b, r, ids)
	}
	d.buf = b
	_, err = d.out.Write(b)
	return err
}

// appendSets appends the number of metrics and their values.
func (d *dumper) appendSets(b []byte, r *pdu.Result, ids []pdu.PMID) []byte {
	if len(ids) == 0 {
		b = appendCount(b, r.Len())
		for _, s := range r.All() {
			b = d.appendSet(b, s, r.Time)
		}
		return b
	}
	var wanted []pdu.ValueSet
	for _, id := range ids {
		for _, s := range r.All() {
			if s.PMID == id {
				wanted = append(wanted, s)
				break
			}
		}
	}
	b = appendCount(b, len(wanted))
	for _, s := range wanted {
		b = d.appendSet(b, s, r.Time)
	}
	return b
}

func appendCount(b []byte, n int) []byte {
	if n == 1 {
		return append(b, " 1 metric\n"...)
	}
	return fmt.Appendf(b, " %d metrics\n", n)
}
