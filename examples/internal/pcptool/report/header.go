package report

import (
	"fmt"
	"strconv"

	"github.com/pcp-go/pcp/pdu"
)

// appendHeader appends the header if the options request one.
func (p *stdout) appendHeader() {
	p.reports = 0
	if !p.o.Header {
		return
	}
	if p.o.SeparateHeader {
		p.appendSeparateHeader()
		return
	}
	p.appendHeading(p.o.SwapLabel, func(i int, m *Metric) string { return m.Label })
	if p.layout.domains && p.o.InstInfo && !p.o.Swapped {
		p.appendHeading("", func(i int, m *Metric) string {
			if m.Singular() {
				return p.o.Delimiter
			}
			return p.layout.columns[i].inst.Name
		})
	}
	if p.o.IncludeLabels {
		p.appendHeading("", func(i int, m *Metric) string { return p.labels(m, p.layout.columns[i].inst.ID) })
	}
	if p.o.UnitInfo {
		p.appendHeading("", func(i int, m *Metric) string { return m.Unit })
	}
}

// appendHeading appends a line of a header: a text for each column.
func (p *stdout) appendHeading(swap string, text func(i int, m *Metric) string) {
	p.line = appendBlanks(p.line, p.timeWidth)
	if p.o.Swapped {
		p.line = append(p.line, p.o.Delimiter...)
		p.line = appendCell(p.line, swap, p.instWidth)
	}
	for i, c := range p.layout.columns {
		m := &p.h.Metrics[c.metric]
		p.line = append(p.line, p.o.Delimiter...)
		p.line = appendCell(p.line, text(i, m), m.Width)
	}
	p.line = append(p.line, '\n')
}

// labels is the text of the labels of an instance. Columns of swapped reports have those of the
// metric.
func (p *stdout) labels(m *Metric, inst pdu.InstID) string {
	if p.o.Swapped && !p.o.SeparateHeader || p.o.FixedHeader {
		inst = pdu.NoInst
	}
	return labelText(m, inst)
}

// labelText is the text of the labels of an instance.
func labelText(m *Metric, inst pdu.InstID) string {
	if text := m.Labels[inst]; text != "" {
		return text
	}
	return "{}"
}

// appendSeparateHeader appends a header whose columns have numbers, and what the numbers mean.
func (p *stdout) appendSeparateHeader() {
	width := len(strconv.Itoa(len(p.layout.columns))) + 1
	for i, c := range p.layout.columns {
		if !p.o.Swapped {
			p.appendMeaning(width, i+1, &p.h.Metrics[c.metric], c.inst)
			continue
		}
		label := p.h.Metrics[c.metric].Label
		for k := range p.h.Metrics {
			m := &p.h.Metrics[k]
			switch {
			case m.Label != label:
			case p.o.FixedHeader:
				p.appendMeaning(width, i+1, m, pdu.Instance{ID: pdu.NoInst})
			default:
				for _, inst := range p.layout.metrics[k].insts {
					p.appendMeaning(width, i+1, m, inst)
				}
			}
		}
	}
	p.line = append(p.line, '\n')
	p.appendHeading("", func(i int, m *Metric) string { return strconv.Itoa(i + 1) })
}

// appendMeaning appends what the number of a column means.
func (p *stdout) appendMeaning(width, number int, m *Metric, inst pdu.Instance) {
	p.line = fmt.Appendf(p.line, "[%*d] - %s", width, number, m.Name)
	if !m.Singular() && !p.o.FixedHeader {
		p.line = fmt.Appendf(p.line, "[\"%s\"]", inst.Name)
	}
	if p.o.UnitInfo {
		unit := m.Unit
		if unit == "" {
			unit = "none"
		}
		p.line = append(append(p.line, " - "...), unit...)
	}
	p.line = append(p.line, '\n')
	if p.o.IncludeLabels {
		p.line = fmt.Appendf(p.line, "[%*d] - %s\n", width, number, p.labels(m, inst.ID))
	}
}
