package pmapi

import (
	"fmt"

	"github.com/pcp-go/pcp/pdu"
)

// A conversion is what is done to the numbers of a metric.
type conversion struct {
	rate   bool
	scaled bool
	factor float64 // if scaled
	offset float64 // for temperatures
}

// conversionOf is what Scale says, or does not, about a metric.
func conversionOf(d pdu.Desc, o *itemOptions) (conversion, error) {
	switch {
	case !o.hasScale:
		return conversion{rate: d.Sem == pdu.SemCounter}, nil
	case o.scale == "rate":
		return conversion{rate: true}, nil
	case o.scale == "instant":
		return conversion{}, nil
	}
	to, mult, err := pdu.ParseUnits(o.scale)
	if err != nil {
		return conversion{}, err
	}
	from, first := d.Units, 1.0
	rate := to.DimTime() == from.DimTime()-1
	if rate {
		if from, first, err = perSecond(from); err != nil {
			return conversion{}, err
		}
	}
	factor, offset, err := linear(from, to)
	if err != nil {
		return conversion{}, fmt.Errorf("from units %q to %q: %w", d.Units, o.scale, err)
	}
	return conversion{rate: rate, scaled: true, factor: first * factor * mult, offset: offset * mult}, nil
}

// perSecond is the units of rates, and the factor from units per second to them.
func perSecond(u pdu.Units) (pdu.Units, float64, error) {
	with := func(dimTime int) pdu.Units {
		return pdu.MakeUnits(u.DimSpace(), dimTime, u.DimCount(), u.ScaleSpace(), pdu.TimeSec.ScaleTime(), u.ScaleCount()) | u&0xff
	}
	factor := 1.0
	if u.DimTime() != 0 {
		var err error
		if factor, _, err = linear(u, with(u.DimTime())); err != nil {
			return 0, 0, err
		}
	}
	return with(u.DimTime() - 1), factor, nil
}

// linear is the factor and the summand that take values from units to others.
// Counts and numbers without a dimension are not the same here.
func linear(from, to pdu.Units) (factor, offset float64, err error) {
	const dimensions = 0xfff << 20
	if from&dimensions != to&dimensions {
		return 0, 0, pdu.ErrConv
	}
	var at [2]float64
	for x := range at {
		a, err := pdu.Float64(float64(x)).ConvertUnits(from, to)
		if err != nil {
			return 0, 0, err
		}
		if at[x], err = pdu.As[float64](a); err != nil {
			return 0, 0, err
		}
	}
	return at[1] - at[0], at[0], nil
}

// apply converts a number.
func (c *conversion) apply(x float64) float64 {
	if !c.scaled {
		return x
	}
	x *= c.factor
	if c.offset != 0 {
		x += c.offset
	}
	return x
}
