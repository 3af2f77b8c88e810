package pmdumplog

import (
	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/logtext"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/pdu"
)

// printDescs prints the descriptors of all metrics.
func (d *dumper) printDescs() error {
	d.printf("\nDescriptions for Metrics in the Log ...\n")
	var metrics []archive.Metric
	var ids []pdu.PMID
	for m := range d.meta.Metrics() {
		metrics, ids = append(metrics, m), append(ids, m.PMID)
	}
	for _, i := range logtext.HashOrder(ids) {
		m := &metrics[i]
		d.printf("PMID: %v (%s)\n", m.PMID, d.allNames(m.PMID, "<noname>"))
		d.printf("    Data Type: %s", pcptool.TypeText(m.Type))
		if m.Type != pdu.TypeNoSupport {
			d.printf("  InDom: %v 0x%x\n    %s", m.InDom, uint32(m.InDom), pcptool.SemanticsText(m.Desc))
		}
		d.printf("\n")
	}
	return nil
}
