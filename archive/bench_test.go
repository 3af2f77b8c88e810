package archive_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// BenchmarkOpen opens archives of many metrics, name space included.
func BenchmarkOpen(b *testing.B) {
	for _, metrics := range []int{1_000, 16_000, 100_000} {
		b.Run(fmt.Sprint("metrics=", metrics), func(b *testing.B) {
			fs := fstest.MapFS{}
			m := newMaker(fs, "a", 3, epoch)
			m.value(0, at(0), 0)
			delete(fs, "a.index")
			for i := range metrics {
				d := valueMetric
				d.PMID = pdu.MakePMID(2, i/1000, i%1000)
				d.Names = []string{fmt.Sprintf("bench.single.m%04d", i)}
				m.desc(d)
			}
			b.SetBytes(int64(len(fs["a.meta"].Data)))
			b.ReportAllocs()
			for b.Loop() {
				s, err := archive.Options{FS: fs}.Open(b.Context(), "a")
				if err != nil {
					b.Fatal(err)
				}
				if n := s.Metadata().Names().Len(); n != metrics+1 {
					b.Fatalf("%d names, want %d", n, metrics+1)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCursor reads records of 1,010 metrics and 2,000 values, about 50 kB.
func BenchmarkCursor(b *testing.B) {
	fs := fstest.MapFS{}
	m := newMaker(fs, "a", 3, epoch)
	delete(fs, "a.index")
	for i := range 100 {
		w := pdu.ResultWriter{Time: at(float64(i))}
		for j := range 1010 {
			w.Begin(pdu.MakePMID(2, j/1000, j%1000))
			insts := 1
			if j >= 1000 {
				insts = 100
			}
			for k := range insts {
				w.Uint64(pdu.InstID(k), uint64(i*j*k))
			}
		}
		m.result(0, &w)
	}
	size := int64(len(fs["a.0"].Data)-808) / 100
	var all []pdu.PMID
	for j := range 1010 {
		all = append(all, pdu.MakePMID(2, j/1000, j%1000))
	}
	c := open(b, fs, "a").Cursor()
	run := func(name string, read func() error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Next(); err == pdu.ErrEOL {
					c.SeekStart()
				} else if err != nil {
					b.Fatal(err)
				} else if err := read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("next", func() error { return nil })
	for _, n := range []int{1, 1010} {
		sel := pdu.NewSelection(all[len(all)-n:])
		run(fmt.Sprint("select=", n), func() error {
			if found, err := c.Select(sel); err != nil || !found {
				return errors.Join(err, pdu.ErrPMID)
			}
			return nil
		})
	}
	run("result", func() error { _, err := c.Result(); return err })
}

// BenchmarkSeek seeks at random in an archive with an index, and reads a record.
func BenchmarkSeek(b *testing.B) {
	fs := fstest.MapFS{}
	m := newMaker(fs, "a", 3, epoch)
	const records = 100_000
	for i := range records {
		off := m.value(0, at(float64(i)), uint64(i))
		if i%2000 == 0 {
			m.index(archive.IndexEntry{Time: at(float64(i)), Data: off})
		}
	}
	c := open(b, fs, "a").Cursor()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		t := at(float64(i * 7919 % records))
		if err := errors.Join(c.SeekNext(t), c.Next()); err != nil || !c.Time().Equal(t) {
			b.Fatal(err, c.Time(), t)
		}
	}
}
