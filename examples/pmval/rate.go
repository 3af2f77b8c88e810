package main

import (
	"math"

	"github.com/pcp-go/pcp/internal/cnum"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// rateUnits says what a counter becomes when it is divided by time.
func rateUnits(u pdu.Units) string {
	if u.DimSpace() == 0 && u.DimTime() == 1 && u.DimCount() == 0 {
		return "time utilization"
	}
	scale := u.ScaleTime()
	if u.DimTime() == 0 {
		scale = pdu.TimeSec.ScaleTime()
	}
	return pdu.MakeUnits(u.DimSpace(), u.DimTime()-1, u.DimCount(), u.ScaleSpace(), scale, u.ScaleCount()).String()
}

// perSecond is by what a rate per second is to be multiplied to have the units of rateUnits.
func perSecond(u pdu.Units) float64 {
	if u.DimTime() == 0 {
		return 1
	}
	sec := pdu.TimeSec.ScaleTime()
	if s := u.ScaleTime(); s > sec {
		return math.Pow(60, float64(s-sec))
	}
	return math.Pow(1000, float64(u.ScaleTime()-sec))
}

// rateRow prints a row of the rates from one sample to the next.
func (p *printer) rateRow(before, now *pdu.Result) {
	old, set := before.At(0), now.At(0)
	seconds := now.Time.Sub(before.Time).Seconds()
	scale := perSecond(p.desc.Units)
	p.row(set, func(b []byte, i, width int) ([]byte, bool) {
		j := 0
		if p.desc.InDom != pdu.NoInDom {
			j = find(old, set.Inst(i), i)
		} else if old.Len() != 1 {
			j = -1
		}
		if j < 0 {
			return b, false
		}
		rate := p.increase(old.Atom(j, p.desc.Type), set.Atom(i, p.desc.Type)) * scale / seconds
		if rate < 0 {
			return cnum.Pad(append(b, '!'), len(b), width), true
		}
		return p.style.append(b, rate, width), true
	})
}

// increase is how far a counter has come.
func (p *printer) increase(from, to pdu.Atom) float64 {
	a, err := pdu.As[float64](from)
	if err != nil {
		p.fail("pmExtractValue: %s", tool.Reason(err))
	}
	b, err := pdu.As[float64](to)
	if err != nil {
		p.fail("pmExtractValue: %s", tool.Reason(err))
	}
	d := b - a
	if p.wrap && d < 0 {
		switch p.desc.Type {
		case pdu.Type32, pdu.TypeU32:
			d += 1 << 32
		case pdu.Type64, pdu.TypeU64:
			d += 1 << 64
		}
	}
	return d
}
