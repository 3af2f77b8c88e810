package pmlogsize

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// A metric is the value sets of a metric.
type metric struct {
	id              pdu.PMID
	bytes           int64
	records, values int64
	dupBytes, dups  int64
	last            map[uint32]string // by instance, the value since the last mark
}

// reportData prints the sizes of a volume and returns the number of bytes that it has accounted
// for.
func (s *sizer) reportData(f *archive.File, label archive.Label, size int64) (int64, error) {
	stamp := int64(8)
	if label.Version > 2 {
		stamp = 16 // 4 more than there are, as PCP's tool has it
	}
	var bytes, records, marks, overhead int64
	overhead = label.Len()
	var metrics []*metric
	byID := map[pdu.PMID]*metric{}
	for r, err := range f.Records() {
		if err != nil {
			return 0, readError(f, "data", size, err)
		}
		if r.Kind == archive.KindLabel {
			continue
		}
		overhead += 8 + stamp + 4
		bytes += int64(len(r.Raw)) - 8 - stamp - 4
		if r.Kind == archive.KindMark {
			marks++
			for _, m := range metrics {
				clear(m.last)
			}
			continue
		}
		records++
		if !s.detail {
			continue
		}
		err := eachSet(r, label.Version, func(set valueSet) {
			m := byID[set.id]
			first := m == nil
			if first {
				m = &metric{id: set.id, last: map[uint32]string{}}
				byID[set.id] = m
				metrics = append(metrics, m)
			}
			n := m.add(set, s.replication)
			s.printSet(m, first, n)
		})
		if err != nil {
			return 0, readError(f, "data", size, err)
		}
	}
	fmt.Fprintf(s.out, "  data: %d bytes [%.0f%%, %d records", bytes, percent(bytes, size), records)
	if marks > 0 {
		fmt.Fprintf(s.out, " (+ %d <mark> records)", marks)
	}
	s.out.WriteString("]\n")
	s.printMetrics(metrics, bytes, size)
	fmt.Fprintf(s.out, "  overhead: %d bytes [%.0f%%]\n", overhead, percent(overhead, size))
	return bytes + overhead, nil
}

// metricNames returns the names of a metric in parentheses after a blank.
func (s *sizer) metricNames(id pdu.PMID) string {
	if s.names == nil {
		return ""
	}
	names := s.names.Names(id)
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// printSet prints the bytes of one value set.
func (s *sizer) printSet(m *metric, first bool, n int64) {
	if s.verbose == 0 {
		return
	}
	fmt.Fprintf(s.out, "PMID: %v", m.id)
	if first {
		s.out.WriteString(s.metricNames(m.id))
	}
	fmt.Fprintf(s.out, " bytes=%d\n", n)
}

// printMetrics prints the metrics with most of the bytes of a volume.
func (s *sizer) printMetrics(metrics []*metric, bytes, size int64) {
	var printed int64
	for _, m := range byBytes(metrics, func(m *metric) int64 { return m.bytes }) {
		if s.culls(printed, bytes) {
			s.out.WriteString("    ...\n")
			return
		}
		printed += m.bytes
		fmt.Fprintf(s.out, "    %v: %d bytes [%.0f%%, %s, %s%s]%s\n", m.id, m.bytes, percent(m.bytes, size),
			plural(m.records, "record"), plural(m.values, "value"), duplicates(m.dupBytes, m.dups), s.metricNames(m.id))
	}
}

// A valueSet is the values of a metric in a record. Each has its instance and its bytes as in the
// file.
type valueSet struct {
	id     pdu.PMID
	insts  []uint32
	values [][]byte
	blocks bool // the values are blocks, and not in place
}

// add adds a value set, and returns its bytes.
func (m *metric) add(set valueSet, replication bool) int64 {
	n := int64(8)
	if len(set.insts) > 0 {
		n += 4 + 8*int64(len(set.insts))
	}
	for i, v := range set.values {
		size := int64(8)
		if set.blocks {
			n += (int64(len(v)) + 3) &^ 3
			size += int64(len(v))
		}
		if !replication {
			continue
		}
		if last, ok := m.last[set.insts[i]]; ok && last == string(v) {
			m.dups++
			m.dupBytes += size
		}
		m.last[set.insts[i]] = string(v)
	}
	m.records++
	m.values += int64(len(set.insts))
	m.bytes += n
	return n
}

// eachSet calls a function with each value set of a record. Their bytes are valid until it returns.
func eachSet(r *archive.Record, version int, f func(valueSet)) error {
	var checked pdu.Result
	if err := r.Result(&checked); err != nil {
		return err // so that all below lies within the record
	}
	at := 12
	if version > 2 {
		at = 16
	}
	b := r.Raw
	word := func() uint32 {
		at += 4
		return binary.BigEndian.Uint32(b[at-4:])
	}
	for range word() {
		set := valueSet{id: pdu.PMID(word())}
		n := int32(word())
		if n > 0 {
			set.blocks = word() != 0
		}
		for range n {
			set.insts = append(set.insts, word())
			value := b[at : at+4]
			if index := word(); set.blocks {
				const before = 2 // words of a PDU's header before the record
				value = b[4*(index-before):]
				value = value[:binary.BigEndian.Uint32(value)&0xffffff]
			}
			set.values = append(set.values, value)
		}
		f(set)
	}
	return nil
}
