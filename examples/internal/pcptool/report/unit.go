package report

import (
	"fmt"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// A conversion is what is done to the values of a metric.
type conversion struct {
	label string   // the heading of its units
	scale string   // the Scale of the Group's item
	typ   pdu.Type // of the values
}

// unitOf is the unit that the options and the specification of a metric select, and its text.
func (o *Options) unitOf(s Spec, d pdu.Desc) string {
	choose := func(force, preferred string) string {
		for _, unit := range []string{force, s.Unit, preferred} {
			if unit != "" {
				return unit
			}
		}
		return d.Units.String()
	}
	switch dims := [3]int{d.Units.DimCount(), d.Units.DimSpace(), d.Units.DimTime()}; dims {
	case [3]int{1, 0, 0}:
		return choose(o.CountScaleForce, o.CountScale)
	case [3]int{0, 1, 0}:
		return choose(o.SpaceScaleForce, o.SpaceScale)
	case [3]int{0, 0, 1}:
		return choose(o.TimeScaleForce, o.TimeScale)
	}
	return choose("", "")
}

// isRaw reports whether a counter is reported as it is.
func (o *Options) isRaw(s Spec) bool {
	return o.Raw || s.Type == "raw" || o.RawPrefer && s.Type == ""
}

// errUnit is an error of a unit that cannot be parsed.
type errUnit struct{ error }

// perSecond is what follows the unit of a counter whose rate is reported.
const perSecond = " / s"

// conversionOf is what is done to the values of a metric.
func (o *Options) conversionOf(s Spec, d pdu.Desc) (conversion, error) {
	if o.Output == OutputArchive {
		return conversion{label: d.Units.String(), scale: "instant", typ: d.Type}, nil
	}
	text := o.unitOf(s, d)
	counter := d.Sem == pdu.SemCounter && !o.isRaw(s) && d.Type != pdu.TypeString
	if counter && !strings.Contains(text, "/") {
		text += perSecond
	}
	c := conversion{label: shortUnit(text), scale: text, typ: d.Type}
	to, _, err := pdu.ParseUnits(text)
	switch {
	case text == "" && d.Sem == pdu.SemCounter && d.Type != pdu.TypeString:
		// A raw counter without units: pmrep has no scale for it, and without one fetch groups make
		// rates of counters.
		c.scale = "rate"
		return c, nil
	case text == d.Units.String():
		if err != nil || to != d.Units { // not every text can be parsed
			c.scale = "instant"
		}
		to = d.Units
	case err != nil:
		return c, errUnit{fmt.Errorf("PM_ERR_CONV Impossible value or scale conversion unrecognized or duplicate base unit: %s.", strings.TrimSuffix(text, perSecond))}
	default:
		err = checkConversion(d.Units, to)
		if err == nil && d.Type == pdu.TypeString {
			err = pdu.ErrConv
		}
	}
	if err != nil && text != d.Units.String() {
		return c, err
	}
	if d.Type != pdu.TypeString && (counter || to != d.Units) {
		c.typ = pdu.TypeDouble
	}
	return c, nil
}

// checkConversion checks that values in units become values, or rates of them, in others.
func checkConversion(from, to pdu.Units) error {
	if to.DimSpace() != from.DimSpace() || to.DimCount() != from.DimCount() ||
		to.DimTime() != from.DimTime() && to.DimTime() != from.DimTime()-1 {
		return pdu.ErrConv
	}
	if to.DimTime() != from.DimTime() {
		return nil
	}
	_, err := pdu.Float64(1).ConvertUnits(from, to)
	return err
}

// shortTimes are the short names of times in units per something.
var shortTimes = strings.NewReplacer("nanosec", "ns", "microsec", "us", "millisec", "ms", "sec", "s", "hour", "h", " / ", "/")

// shortUnit is the text of a unit in headings.
func shortUnit(text string) string {
	if !strings.Contains(text, " / ") {
		return text
	}
	return shortTimes.Replace(text)
}

// headLabel returns the default heading of a metric: the first letters of the components of its
// name, and the last component.
func headLabel(name string) string {
	parts := strings.Split(name, ".")
	for i, part := range parts[:len(parts)-1] {
		for _, r := range part {
			parts[i] = string(r)
			break
		}
	}
	return strings.Join(parts, ".")
}
