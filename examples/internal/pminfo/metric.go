package pminfo

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A printer prints metrics.
type printer struct {
	*show
	command *pcptool.Command
	ctx     context.Context
	pc      *pmapi.Context
	out     *bufio.Writer
	format  pdu.ValueFormat
	archive bool // the context is on archives

	names      []string // the metrics of the batch
	insts      map[pdu.InDom]instances
	labelCache labelCache
	parameters map[pdu.PMID]*parameter
	buf        []byte
}

func (p *printer) printf(format string, args ...any) { fmt.Fprintf(p.out, format, args...) }

// print prints texts without copying them, because they may be long.
func (p *printer) print(texts ...string) {
	for _, text := range texts {
		p.out.WriteString(text)
	}
}

// printMetric prints the metric at index i of a batch.
func (p *printer) printMetric(name string, b *batch, i int) {
	printed := terminal.EscapeName(name)
	var desc pdu.Desc
	if p.needsDesc() {
		if err := pmapi.ErrorAt(b.descErr, i); err != nil {
			p.printf("%s: pmLookupDesc: %v\n", printed, pcptool.Cause(err))
			return
		}
		desc = b.descs[i]
	}
	if p.verify {
		p.printProblem(printed, desc, b.values.At(i))
		return
	}
	if p.descs || p.values || p.labels || p.help {
		p.printf("\n")
	}
	var values pdu.ValueSet
	if p.values {
		values = b.values.At(i)
	}
	if p.fetchAll && values.Err() == error(pdu.ErrProfile) {
		var r pdu.Result
		if message := p.fetchByInstances(desc, &r); message != "" {
			p.printf("%s: %s\n", printed, message)
			return
		}
		values = r.At(0)
	}
	p.printHead(printed, b, i)
	if p.descs {
		p.printDesc(desc)
	}
	var labels pdu.LabelSet
	if p.series || p.labels {
		labels = mergeLabels(p.metricLabels(desc, b.labels[i]))
	}
	if p.series {
		p.printSeries(name, desc, labels)
	}
	if p.labels {
		p.printf("    labels %v\n", labels)
	}
	if p.help {
		p.printHelp(b.helps[i].Text, b.helps[i].Err)
	}
	if p.values {
		p.printValues(desc, values)
	}
	if p.series || p.labels {
		p.printInstances(desc, labels)
	}
}

// printHead prints the line with the name.
func (p *printer) printHead(name string, b *batch, i int) {
	p.printf("%s", name)
	if p.pmid {
		p.printf(" PMID: %v", b.ids[i])
		if p.fullPMID {
			p.printf(" = %d = 0x%x", uint32(b.ids[i]), uint32(b.ids[i]))
		}
	}
	if p.oneLine {
		p.printOneLine(b.oneLines[i].Text, b.oneLines[i].Err, p.fullPMID)
	}
	p.printf("\n")
}

// printProblem prints the problem of a metric if it has one.
func (p *printer) printProblem(name string, d pdu.Desc, s pdu.ValueSet) {
	switch {
	case d.Type == pdu.TypeNoSupport:
		p.printf("%s: Not Supported\n", name)
	case s.Err() != nil:
		p.printf("%s: %v\n", name, s.Err())
	case s.Len() == 0:
		p.printf("%s: No value(s) available\n", name)
	}
}

// printInDomain prints all information about an instance domain.
func (p *printer) printInDomain(d pdu.InDom) {
	if p.verify {
		return // there is nothing to verify
	}
	p.printf("\n")
	p.printInDomID(d)
	if p.oneLine {
		text, err := p.pc.InDomText(p.ctx, d, pdu.TextOneLine)
		p.printOneLine(text, err, p.fullInDom)
	}
	p.printf("\n")
	if p.labels {
		p.printf("    labels %v\n", mergeLabels(p.inDomLabels(d.Domain(), d)))
	}
	if p.help {
		text, err := p.pc.InDomText(p.ctx, d, pdu.TextHelp)
		p.printHelp(text, err)
	}
}

func (p *printer) printInDomID(d pdu.InDom) {
	p.printf("InDom: %v", d)
	if p.fullInDom {
		p.printf(" = %d =", uint32(d))
	}
	p.printf(" 0x%x", uint32(d))
}

// printOneLine prints a one-line help text. With ownLine it prints the text on a separate line.
func (p *printer) printOneLine(text string, err error, ownLine bool) {
	switch {
	case err != nil:
		p.printf(" One-line Help: Error: %v", pcptool.Cause(err))
	case ownLine:
		p.print("\n    [", text, "]")
	default:
		p.print(" [", text, "]")
	}
}

func (p *printer) printHelp(text string, err error) {
	switch {
	case err != nil:
		p.printf("Full Help: Error: %v\n", pcptool.Cause(err))
	case text == "":
		p.printf("Help: <empty entry>\n")
	default:
		p.print("Help:\n", strings.TrimRight(text, "\n"), "\n")
	}
}

func (p *printer) printDesc(d pdu.Desc) {
	p.printf("    Data Type: %s  ", pcptool.TypeText(d.Type))
	p.printInDomID(d.InDom)
	p.printf("\n    %s\n", pcptool.SemanticsText(d))
}
