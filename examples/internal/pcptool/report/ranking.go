package report

import (
	"fmt"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// Rank writes an overall ranking: a table, or the metrics as pmrep's command line has them.
func (p *stdout) Rank(ranking []Ranked) error {
	p.line = p.line[:0]
	if p.o.OverallRankAlt {
		p.appendSpecs(ranking)
	} else {
		p.appendRanking(ranking)
	}
	return p.flush()
}

// appendSpecs appends each metric with its instances as a metric specification.
func (p *stdout) appendSpecs(ranking []Ranked) {
	for i := 0; i < len(ranking); {
		m := &p.h.Metrics[ranking[i].Metric]
		var names []string
		first := i
		for ; i < len(ranking) && ranking[i].Metric == ranking[first].Metric; i++ {
			names = append(names, "'"+ranking[i].Value.Inst.Name+"'")
		}
		p.line = append(append(p.line, m.Name...), ",,"...)
		if !m.Singular() {
			p.line = fmt.Appendf(p.line, "\"%s\"", strings.Join(names, ","))
		}
		p.line = append(p.line, '\n')
	}
}

const (
	minRankWidth      = 3 // of columns of an overall ranking
	minRankDelimiter  = 2 // of the delimiter between them, but for the last
	rankDelimiterLast = " "
)

// appendRanking appends a table of metrics, instances, units and values.
func (p *stdout) appendRanking(ranking []Ranked) {
	name, inst, unit, value := minRankWidth, minRankWidth, minRankWidth, minRankWidth
	values := make([]string, len(ranking))
	for i, r := range ranking {
		m := &p.h.Metrics[r.Metric]
		values[i] = rankedText(r.Value.Atom, m)
		name, unit = max(name, runes(m.Name)), max(unit, runes(m.Unit))
		inst, value = max(inst, runes(rankedName(m, r))), max(value, runes(values[i]))
	}
	for i, r := range ranking {
		m := &p.h.Metrics[r.Metric]
		p.line = appendLeft(p.line, m.Name, name+1)
		p.line = appendLeft(p.line, p.o.Delimiter, minRankDelimiter)
		p.line = appendLeft(p.line, rankedName(m, r), inst+1)
		p.line = appendLeft(p.line, p.o.Delimiter, minRankDelimiter)
		p.line = appendRight(p.line, m.Unit, unit)
		p.line = append(append(p.line, rankDelimiterLast...), p.o.Delimiter...)
		p.line = append(appendRight(p.line, values[i], value+1), '\n')
	}
}

// rankedName is the name of an instance in an overall ranking.
func rankedName(m *Metric, r Ranked) string {
	if m.Singular() {
		return ""
	}
	return r.Value.Inst.Name
}

// rankedText is the text of a value in an overall ranking, which is as long as it needs to be.
func rankedText(a pdu.Atom, m *Metric) string {
	switch a.Type {
	case pdu.TypeFloat, pdu.TypeDouble:
		return string(appendFixed(nil, real(a), min(m.Precision, m.Width)))
	}
	return a.String()
}
