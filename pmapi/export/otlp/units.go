package otlp

import (
	"math"
	"strconv"

	"github.com/pcp-go/pcp/pdu"
)

var spaceUnits = [...]string{"By", "KiBy", "MiBy", "GiBy", "TiBy", "PiBy", "EiBy", "ZiBy", "YiBy"}
var timeUnits = [...]string{"ns", "us", "ms", "s", "min", "h"}

var extraUnits = map[pdu.Units]string{
	pdu.TempCelsius: "Cel", pdu.TempFahrenheit: "[degF]", pdu.TempKelvin: "K",
	pdu.Volt: "V", pdu.MilliVolt: "mV", pdu.MicroVolt: "uV",
	pdu.Amp: "A", pdu.MilliAmp: "mA", pdu.MicroAmp: "uA",
	pdu.KiloWatt: "kW", pdu.Watt: "W", pdu.MilliWatt: "mW", pdu.MicroWatt: "uW",
}

// ucum is the unit of values after they are multiplied by a factor; "" for units that UCUM has no text for.
func ucum(u pdu.Units) (unit string, factor float64) {
	factor = math.Pow10(u.ScaleCount() * u.DimCount())
	if u.Extra() != 0 {
		if u.DimSpace() != 0 || u.DimTime() != 0 || u.DimCount() != 0 {
			return "", 1
		}
		return extraUnits[u&0xff], 1
	}
	if u.DimSpace() != 0 && u.ScaleSpace() >= len(spaceUnits) || u.DimTime() != 0 && u.ScaleTime() >= len(timeUnits) {
		return "", 1
	}
	if u.DimCount() == 0 {
		factor = 1
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
	return above + below, factor
}

// exponent follows a unit with a dimension.
func exponent(dim int) string {
	if dim == 1 || dim == -1 {
		return ""
	}
	return strconv.Itoa(max(dim, -dim))
}
