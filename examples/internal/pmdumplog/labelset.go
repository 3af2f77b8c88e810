package pmdumplog

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// labelOrder is the order of the classes in the output.
var labelOrder = []pdu.LabelClass{pdu.LabelContext, pdu.LabelDomain, pdu.LabelCluster, pdu.LabelItem, pdu.LabelInDom, pdu.LabelInstances}

// printLabelSets prints the labels of all times.
func (d *dumper) printLabelSets() error {
	d.printf("\nMetric Labels in the Log ...\n")
	var records []archive.LabelRecord
	for l := range d.meta.AllLabels() {
		for i := range l.Len() {
			records = append(records, l.Record(i))
		}
	}
	slices.SortStableFunc(records, func(a, b archive.LabelRecord) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(slices.Index(labelOrder, a.Class), slices.Index(labelOrder, b.Class)),
			cmp.Compare(a.Ident, b.Ident))
	})
	var last time.Time
	for i, r := range records {
		if i == 0 || !r.Time.Equal(last) {
			d.printTime(r.Time)
			d.printf("\n")
			last = r.Time
		}
		for _, set := range r.Sets {
			d.printLabelSet(labelTarget(&r, set.Inst), set)
		}
	}
	return nil
}

// labelTarget returns the subject of the labels of a record.
func labelTarget(r *archive.LabelRecord, inst pdu.InstID) string {
	switch r.Class {
	case pdu.LabelContext:
		return "Context"
	case pdu.LabelDomain:
		return fmt.Sprintf("Domain %d", r.Ident)
	case pdu.LabelCluster:
		id := pdu.PMID(r.Ident)
		return fmt.Sprintf("Cluster %d.%d", id.Domain(), id.Cluster())
	case pdu.LabelItem:
		return "PMID " + pdu.PMID(r.Ident).String()
	case pdu.LabelInDom:
		return "InDom " + pdu.InDom(r.Ident).String()
	default:
		return fmt.Sprintf("InDom %v[%d]", pdu.InDom(r.Ident), inst)
	}
}

func (d *dumper) printLabelSet(target string, s pdu.LabelSet) {
	d.printf("    %s labels (%d bytes): %s\n", target, len(s.JSON), s.JSON)
	for i, l := range s.Labels {
		flags := l.Flags.Class().String()
		if l.Flags&pdu.LabelCompound != 0 {
			flags += ",compound"
		}
		if l.Flags&pdu.LabelOptional != 0 {
			flags += ",optional"
		}
		d.printf("        [%d] name(%d,%d) : value(%d,%d) [%s]\n", i, l.NameOff, l.NameLen, l.ValueOff, l.ValueLen, flags)
	}
}
