package pmval

import (
	"errors"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// printRates prints a row of the rates between two samples.
func (p *printer) printRates(before, now *pdu.Result) error {
	old, set := p.values(before), p.values(now)
	elapsed := time.Duration(pcptool.Elapsed(before.Time, now.Time) * 1e9)
	_, _, step := p.pc.Mode()
	if step < 0 { // the archive is read backwards
		elapsed = -elapsed
	}
	_, factor := pcptool.RateUnits(p.desc.Units)
	return p.printRow(set, func(b []byte, i int, column Column) ([]byte, error) {
		j := 0
		if p.desc.InDom != pdu.NoInDom {
			j = indexOf(old, set.Inst(i), i)
		} else if old.Len() != 1 {
			j = -1
		}
		if j < 0 {
			return b, nil
		}
		from, to := old.Atom(j, p.desc.Type), set.Atom(i, p.desc.Type)
		if step < 0 {
			from, to = to, from
		}
		rate, err := p.rate(from, to, elapsed)
		if errors.Is(err, pdu.ErrValue) {
			return column.AppendText(b, "!"), nil
		}
		return column.AppendFloat(b, rate*factor), err
	})
}

// rate returns the rate of a counter. Like pmval(1) it computes with floating point numbers, so
// 64-bit counters above 2^53 have steps of more than 1.
func (p *printer) rate(from, to pdu.Atom, elapsed time.Duration) (float64, error) {
	a, err := p.float(from)
	if err != nil {
		return 0, err
	}
	b, err := p.float(to)
	if err != nil {
		return 0, err
	}
	rate, err := pmapi.CounterRate(pdu.Float64(a), pdu.Float64(b), elapsed, false)
	if err != nil && p.wrap {
		rate, err = pmapi.CounterRate(from, to, elapsed, true)
	}
	return rate, err
}
