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
	parts := [...]struct {
		dim  int
		text string
	}{{u.DimSpace(), ""}, {u.DimTime(), ""}, {u.DimCount(), "{count}"}}
	if u.DimSpace() != 0 {
		parts[0].text = spaceUnits[u.ScaleSpace()]
	}
	if u.DimTime() != 0 {
		parts[1].text = timeUnits[u.ScaleTime()]
	}
	var above, below string
	for _, p := range parts {
		switch {
		case p.dim > 0 && above != "":
			above += "." + p.text + exponent(p.dim)
		case p.dim > 0:
			above = p.text + exponent(p.dim)
		case p.dim < 0:
			below += "/" + p.text + exponent(-p.dim)
		}
	}
	if above == "" {
		above = "1"
	}
	return above + below, factor
}

// exponent follows a unit. An annotation in braces stands for 1, and has none.
func exponent(n int) string {
	if n == 1 {
		return ""
	}
	return strconv.Itoa(n)
}
