package pmlogsize

import (
	"encoding/binary"
	"fmt"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// A part is the records of one kind.
type part struct {
	bytes, records int64
}

// An inDom is the records of an instance domain.
type inDom struct {
	part
	id             pdu.InDom
	instances      int64
	dupBytes, dups int64
	seen           map[pdu.Instance]bool
}

// frameLen is the length of the parts of a record around its body: its length before and after it.
const frameLen = 8

// reportMeta prints the sizes of the metadata and returns the number of bytes that it has accounted
// for.
func (s *sizer) reportMeta(f *archive.File, label archive.Label, size int64) (int64, error) {
	var metrics, inDoms, labels, texts part
	var domains []*inDom
	byID := map[pdu.InDom]*inDom{}
	overhead := label.Len()
	for r, err := range f.Records() {
		if err != nil {
			return 0, readError(f, "metadata", size, err)
		}
		if r.Kind == archive.KindLabel {
			continue
		}
		overhead += frameLen
		bytes := int64(len(r.Raw)) - frameLen
		p := &metrics
		switch r.Kind {
		case archive.KindDesc:
			err = s.printMetric(r)
		case archive.KindInDom, archive.KindInDomDelta:
			p = &inDoms
			domains, err = s.addInDom(domains, byID, r, bytes)
		case archive.KindLabels:
			p = &labels
			s.printTodo("LABEL", p)
		case archive.KindText:
			p = &texts
			s.printTodo("TEXT", p)
		}
		if err != nil {
			return 0, readError(f, "metadata", size, err)
		}
		p.bytes += bytes
		p.records++
	}
	s.printPart("metrics", metrics, size, "")
	instances := ""
	if s.detail {
		n := int64(0)
		for _, d := range domains {
			n += d.instances
		}
		instances = fmt.Sprintf(", %d instances", n)
	}
	s.printPart("indoms", inDoms, size, instances)
	s.printInDoms(domains, inDoms.bytes, size)
	s.printPart("labels", labels, size, "")
	s.printPart("texts", texts, size, "")
	fmt.Fprintf(s.out, "  overhead: %d bytes [%.0f%%]\n", overhead, percent(overhead, size))
	return metrics.bytes + inDoms.bytes + labels.bytes + texts.bytes + overhead, nil
}

func (s *sizer) printPart(name string, p part, size int64, more string) {
	if p.records > 0 {
		fmt.Fprintf(s.out, "  %s: %d bytes [%.0f%%, %d records%s]\n", name, p.bytes, percent(p.bytes, size), p.records, more)
	}
}

// printTodo prints once, in the words of PCP's tool, that labels and texts have no details.
func (s *sizer) printTodo(kind string, p *part) {
	if s.detail && p.records == 0 {
		fmt.Fprintf(s.out, "%s: TODO ... nothing reported as yet\n", kind)
	}
}

// printMetric prints a record of a descriptor.
func (s *sizer) printMetric(r *archive.Record) error {
	if s.verbose == 0 {
		return nil
	}
	m, err := r.Metric()
	if err == nil {
		fmt.Fprintf(s.out, "PMID: %v", m.PMID)
		lengths := r.Raw[descNames:]
		for _, name := range m.Names {
			n := int(binary.BigEndian.Uint32(lengths))
			fmt.Fprintf(s.out, " %*s", n, name) // some old writers have padded names
			lengths = lengths[4+n:]
		}
		fmt.Fprintln(s.out)
	}
	return err
}

// descNames is the offset of the names in a descriptor record.
const descNames = 32

// addInDom adds a record of an instance domain.
func (s *sizer) addInDom(domains []*inDom, byID map[pdu.InDom]*inDom, r *archive.Record, bytes int64) ([]*inDom, error) {
	if !s.detail && s.verbose == 0 {
		return domains, nil
	}
	in, err := r.InDom()
	if err != nil {
		return domains, err
	}
	if s.verbose > 0 {
		s.printInDom(r, &in)
	}
	d := byID[in.InDom]
	if d == nil {
		d = &inDom{id: in.InDom, seen: map[pdu.Instance]bool{}}
		byID[in.InDom] = d
		domains = append(domains, d)
	}
	d.bytes += bytes
	d.records++
	d.instances += int64(len(in.Instances) + len(in.Deleted))
	if s.replication {
		for _, inst := range in.Instances {
			if d.seen[inst] {
				d.dups++
				d.dupBytes += 8 + int64(len(inst.Name)) + 1 // number, offset of the name, and the name
			}
			d.seen[inst] = true
		}
	}
	return domains, nil
}

// printInDom prints a record of an instance domain: its first and last instance.
func (s *sizer) printInDom(r *archive.Record, in *archive.InDomRecord) {
	name := "INDOM"
	switch {
	case in.Delta:
		name = "INDOM_DELTA"
	case r.Version == 2:
		name = "INDOM_V2"
	}
	n := len(in.Instances)
	fmt.Fprintf(s.out, "%s: %v %s", name, in.InDom, plural(int64(n+len(in.Deleted)), "instance"))
	if n > 0 {
		fmt.Fprintf(s.out, " %d \"%s\"", in.Instances[0].ID, in.Instances[0].Name)
	}
	if n > 1 {
		fmt.Fprintf(s.out, " ... %d \"%s\"", in.Instances[n-1].ID, in.Instances[n-1].Name)
	}
	s.out.WriteByte('\n')
}

// printInDoms prints the instance domains with most of the bytes.
func (s *sizer) printInDoms(domains []*inDom, bytes, size int64) {
	if !s.detail {
		return
	}
	var printed int64
	for _, d := range byBytes(domains, func(d *inDom) int64 { return d.bytes }) {
		if s.culls(printed, bytes) {
			s.out.WriteString("    ...\n")
			return
		}
		printed += d.bytes
		fmt.Fprintf(s.out, "    %v: %d bytes [%.0f%%, %s, %s%s]\n", d.id, d.bytes, percent(d.bytes, size),
			plural(d.records, "record"), plural(d.instances, "instance"), duplicates(d.dupBytes, d.dups))
	}
}
