package otlp

import (
	"math"
	"strconv"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/base"
)

// baseUnits maps Prometheus' names of base units to UCUM.
var baseUnits = map[string]string{
	"bytes": "By", "seconds": "s", "bytes_per_second": "By/s", "per_second": "{count}/s", "hertz": "Hz",
	"celsius": "Cel", "volts": "V", "amperes": "A", "watts": "W",
}

// unitOf returns the unit of a metric in UCUM, and the conversion of its values to that unit. The
// unit is "" for numbers without units, and for units that UCUM lacks.
func unitOf(d pdu.Desc) (unit string, c base.Conversion) {
	c, ok := base.From(d.Units)
	switch {
	case ok && c.Sub != 0 && d.Sem == pdu.SemCounter: // a difference has no zero point
		return extraUnits[d.Units&0xff], base.Same
	case ok && c.Unit == "" && d.Units.DimCount() != 0:
		return "{count}", c
	case ok:
		return baseUnits[c.Unit], c
	}
	unit, scale := ucum(d.Units)
	if scale < 0 {
		return unit, base.Conversion{Mul: 1, Div: math.Pow10(-scale)}
	}
	return unit, base.Conversion{Mul: math.Pow10(scale), Div: 1}
}

var spaceUnits = [...]string{"By", "KiBy", "MiBy", "GiBy", "TiBy", "PiBy", "EiBy", "ZiBy", "YiBy"}
var timeUnits = [...]string{"ns", "us", "ms", "s", "min", "h"}

// extraUnits are the units whose zero point differs from that of their base unit.
var extraUnits = map[pdu.Units]string{pdu.TempFahrenheit: "[degF]", pdu.TempKelvin: "K"}

// ucum returns the UCUM form of units without a base unit, and the power of ten that converts
// scaled counts. The unit is "" if UCUM lacks it.
func ucum(u pdu.Units) (unit string, scale int) {
	if u.Extra() != 0 || u.DimSpace() != 0 && u.ScaleSpace() >= len(spaceUnits) || u.DimTime() != 0 && u.ScaleTime() >= len(timeUnits) {
		return "", 0
	}
	var above, below string
	add := func(dim int, text string) {
		switch {
		case dim > 0 && above != "":
			above += "." + text
		case dim > 0:
			above = text
		case dim < 0:
			below += "/" + text
		}
	}
	if dim := u.DimSpace(); dim != 0 {
		add(dim, spaceUnits[u.ScaleSpace()]+exponent(dim))
	}
	if dim := u.DimTime(); dim != 0 {
		add(dim, timeUnits[u.ScaleTime()]+exponent(dim))
	}
	add(u.DimCount(), "{count}") // an annotation stands for 1 and cannot have an exponent
	if above == "" {
		above = "1"
	}
	return above + below, u.ScaleCount() * u.DimCount()
}

// exponent returns the exponent of a unit.
func exponent(dim int) string {
	if dim == 1 || dim == -1 {
		return ""
	}
	return strconv.Itoa(max(dim, -dim))
}
