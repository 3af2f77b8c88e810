package pmdumplog

import (
	"cmp"
	"slices"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// printHelpTexts prints the help texts of metrics, then those of instance domains.
func (d *dumper) printHelpTexts() error {
	d.printf("\nMetric Help Text in the Log ...\n")
	texts := slices.SortedStableFunc(d.meta.Texts(), func(a, b archive.TextRecord) int {
		return cmp.Or(cmp.Compare(a.Kind&(pdu.TextPMID|pdu.TextInDom), b.Kind&(pdu.TextPMID|pdu.TextInDom)),
			cmp.Compare(a.Ident, b.Ident), cmp.Compare(a.Kind, b.Kind))
	})
	for _, t := range texts {
		if t.Kind&pdu.TextPMID != 0 {
			d.printf("PMID: %v", pdu.PMID(t.Ident))
		} else {
			d.printf("InDom: %v", pdu.InDom(t.Ident))
		}
		if t.Kind&pdu.TextOneLine != 0 {
			d.printf(" [%s]\n", t.Text)
		} else {
			d.printf("\n%s\n", t.Text)
		}
	}
	return nil
}
