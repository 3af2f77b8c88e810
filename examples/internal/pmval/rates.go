package pmval

import (
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// printRates prints a row of the rates from one sample to the next.
func (p *printer) printRates(before, now *pdu.Result) error {
	old, set := p.values(before), p.values(now)
	seconds := tool.Elapsed(before.Time, now.Time)
	_, factor := tool.RateUnits(p.desc.Units)
	return p.printRow(set, func(b []byte, i int, column tool.Column) ([]byte, error) {
		j := 0
		if p.desc.InDom != pdu.NoInDom {
			j = indexOf(old, set.Inst(i), i)
		} else if old.Len() != 1 {
			j = -1
		}
		if j < 0 {
			return b, nil
		}
		change, err := p.change(old.Atom(j, p.desc.Type), set.Atom(i, p.desc.Type))
		rate := change * factor / seconds
		if rate < 0 {
			return column.AppendText(b, "!"), err
		}
		return column.AppendFloat(b, rate), err
	})
}

// change is how far a counter has come. It is computed with floating point numbers, as pmval(1) does: 64-bit counters
// beyond 2^53 come in steps of more than 1.
func (p *printer) change(from, to pdu.Atom) (float64, error) {
	a, err := p.float(from)
	if err != nil {
		return 0, err
	}
	b, err := p.float(to)
	if err != nil {
		return 0, err
	}
	change, err := pmapi.CounterChange(pdu.Float64(a), pdu.Float64(b), false)
	if change < 0 && p.wrap {
		change, err = pmapi.CounterChange(from, to, true)
	}
	return change, err
}
