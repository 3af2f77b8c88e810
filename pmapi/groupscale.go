package pmapi

import (
	"fmt"

	"github.com/pcp-go/pcp/pdu"
)

// A conversion says how the numbers of a metric are converted.
type conversion struct {
	rate   bool
	scaled bool
	first  float64 // if scaled: the multiplier before factor; as in C, each product is rounded
	factor float64
	offset float64 // for temperatures
	nanos  int64   // for durations: the nanoseconds in a unit of the metric; whole numbers of units are exact
}

// conversionOf returns the conversion for a metric, with or without the option Scale. toDuration
// says whether values become a time.Duration.
func conversionOf(d pdu.Desc, o *itemOptions, toDuration bool) (conversion, error) {
	rate := d.Sem == pdu.SemCounter
	if o.hasScale {
		rate = o.scale == "rate"
	}
	if !o.hasScale || rate || o.scale == "instant" {
		if toDuration && isTime(d.Units) {
			return durationOf(d.Units, rate)
		}
		if toDuration && d.Units != pdu.NoUnits {
			return conversion{}, errNoTime(d.Units)
		}
		return conversion{rate: rate}, nil
	}
	to, mult, err := parseScale(o.scale)
	if err != nil {
		return conversion{}, err
	}
	switch {
	case toDuration && isTime(to) && isTime(d.Units):
		return durationOf(d.Units, false)
	case toDuration && d.Units != pdu.NoUnits && !isTime(d.Units):
		return conversion{}, errNoTime(d.Units)
	}
	from, first := d.Units, 1.0
	rate = to.DimTime() == from.DimTime()-1
	switch {
	case rate && isTime(from): // nanoseconds per second
		if first, _, err = linear(from, pdu.TimeNSec); err != nil {
			return conversion{}, err
		}
		from, mult = pdu.NoUnits, mult/1e9
	case rate:
		if from, first, err = perSecond(from); err != nil {
			return conversion{}, err
		}
	}
	factor, offset, err := linear(from, to)
	if err != nil {
		return conversion{}, fmt.Errorf("from units %q to %q: %w", d.Units, o.scale, err)
	}
	return conversion{rate: rate, scaled: true, first: first, factor: factor * mult, offset: offset * mult}, nil
}

// parseScale parses the text of Scale: "%", which is a factor, or units.
func parseScale(text string) (to pdu.Units, mult float64, err error) {
	if text == "%" {
		return pdu.NoUnits, 100, nil
	}
	return pdu.ParseUnits(text)
}

// isTime reports whether units are those of time alone.
func isTime(u pdu.Units) bool {
	return u.DimTime() == 1 && u.DimSpace() == 0 && u.DimCount() == 0 && u.Extra() == 0
}

// errNoTime returns the error of a time.Duration for a metric whose units are not of time.
func errNoTime(u pdu.Units) error {
	return fmt.Errorf("the metric has units %q, which are not of time, and so no time.Duration: %w", u, pdu.ErrConv)
}

// durationOf returns the conversion of units of time, or of their rate per second, to nanoseconds.
func durationOf(u pdu.Units, rate bool) (conversion, error) {
	factor, _, err := linear(u, pdu.TimeNSec)
	if err != nil {
		return conversion{}, fmt.Errorf("from units %q to time.Duration: %w", u, err)
	}
	return conversion{rate: rate, scaled: true, first: 1, factor: factor, nanos: int64(factor)}, nil
}

// perSecond returns the units of a rate of u, and the factor that converts u per second to them.
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

// linear returns the factor and the offset that convert values between units. It does not convert
// between counts and numbers without a dimension.
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
	x = x * c.first * c.factor
	if c.offset != 0 {
		x += c.offset
	}
	return x
}
