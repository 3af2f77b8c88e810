package pdu

import "strconv"

// Units are the dimension and scale of a metric's values, as they are on the wire:
//
//	bits 31–28  dimension in space     19–16  scale of space, SpaceByte = 0 …
//	     27–24  dimension in time      15–12  scale of time, nanoseconds = 0 …
//	     23–20  dimension in count     11–8   power of ten of count
//	     7–3    extra unit (7.2)       2–0    its scale
//
// Dimensions are signed, −8 to 7. Combine constants with |, also in constant expressions:
//
//	const rate = pdu.SpaceKByte | pdu.PerSec // Kbyte / sec
//
// The counterpart of pmUnits of the C library.
type Units uint32

// The extents of a dimension and of the scales.
const (
	minDim        = -8
	maxDim        = 7
	maxSpaceScale = 15 // those up to 8, SpaceYByte, have names
	maxTimeScale  = 15 // those up to 5, TimeHour, have names
)

// NoUnits are the units of a pure number.
const NoUnits Units = 0

// Units of space, with dimension 1. Each is 1024 of the one before.
const (
	SpaceByte  Units = 1<<28 | 0<<16
	SpaceKByte Units = 1<<28 | 1<<16
	SpaceMByte Units = 1<<28 | 2<<16
	SpaceGByte Units = 1<<28 | 3<<16
	SpaceTByte Units = 1<<28 | 4<<16
	SpacePByte Units = 1<<28 | 5<<16
	SpaceEByte Units = 1<<28 | 6<<16
	SpaceZByte Units = 1<<28 | 7<<16
	SpaceYByte Units = 1<<28 | 8<<16
)

// Units of time, with dimension 1.
const (
	TimeNSec Units = 1<<24 | 0<<12
	TimeUSec Units = 1<<24 | 1<<12
	TimeMSec Units = 1<<24 | 2<<12
	TimeSec  Units = 1<<24 | 3<<12
	TimeMin  Units = 1<<24 | 4<<12
	TimeHour Units = 1<<24 | 5<<12
)

// UnitCount is the unit of events, with dimension 1, such as read operations. PCP prints it as
// "count". It is to counts what SpaceByte is to space.
const UnitCount Units = 1 << 20

// Units per time, with dimension −1.
const (
	PerNSec Units = 0xf<<24 | 0<<12
	PerUSec Units = 0xf<<24 | 1<<12
	PerMSec Units = 0xf<<24 | 2<<12
	PerSec  Units = 0xf<<24 | 3<<12
	PerMin  Units = 0xf<<24 | 4<<12
	PerHour Units = 0xf<<24 | 5<<12
)

// PerCount is the unit per count, with dimension −1.
const PerCount Units = 0xf << 20

// The extra units of PCP 7.2, each with its scale.
const (
	TempCelsius    Units = 1<<3 | 1
	TempFahrenheit Units = 1<<3 | 2
	TempKelvin     Units = 1<<3 | 3
	Volt           Units = 2<<3 | 1
	MilliVolt      Units = 2<<3 | 2
	MicroVolt      Units = 2<<3 | 3
	Amp            Units = 3<<3 | 1
	MilliAmp       Units = 3<<3 | 2
	MicroAmp       Units = 3<<3 | 3
	KiloWatt       Units = 4<<3 | 1
	Watt           Units = 4<<3 | 2
	MilliWatt      Units = 4<<3 | 3
	MicroWatt      Units = 4<<3 | 4
)

// The kinds of extra unit, as Units.Extra returns them.
const (
	extraTemperature = 1 + iota
	extraVoltage
	extraCurrent
	extraPower
)

// MakeUnits composes units of the three basic dimensions. Dimensions and the scale
// of count are −8 to 7, the other scales 0 to 15; of other numbers only the low 4
// bits count. The counterpart of PMDA_PMUNITS.
func MakeUnits(dimSpace, dimTime, dimCount, scaleSpace, scaleTime, scaleCount int) Units {
	f := func(n, shift int) Units { return Units(n&0xf) << shift }
	return f(dimSpace, 28) | f(dimTime, 24) | f(dimCount, 20) |
		f(scaleSpace, 16) | f(scaleTime, 12) | f(scaleCount, 8)
}

// DimSpace is the dimension in space, −8 to 7.
func (u Units) DimSpace() int { return int(int32(u) >> 28) }

// DimTime is the dimension in time, −8 to 7.
func (u Units) DimTime() int { return int(int32(u<<4) >> 28) }

// DimCount is the dimension in count, −8 to 7.
func (u Units) DimCount() int { return int(int32(u<<8) >> 28) }

// ScaleSpace is the scale of space: 0 byte, 1 KByte, … 8 YByte.
func (u Units) ScaleSpace() int { return int(u >> 16 & 0xf) }

// ScaleTime is the scale of time: 0 nanosecond … 3 second, 4 minute, 5 hour.
func (u Units) ScaleTime() int { return int(u >> 12 & 0xf) }

// ScaleCount is the power of ten of count, −8 to 7.
func (u Units) ScaleCount() int { return int(int32(u<<20) >> 28) }

// Extra is the kind of the extra unit of PCP 7.2: 0 none, 1 temperature, 2 voltage, 3 current,
// 4 power.
func (u Units) Extra() int { return int(int32(u<<24) >> 27) }

// extraScale is the scale of the extra unit, 0 to 7, as in the constants from TempCelsius to
// MicroWatt.
func (u Units) extraScale() int { return int(u & 7) }

var spaceNames = [...]string{"byte", "Kbyte", "Mbyte", "Gbyte", "Tbyte", "Pbyte", "Ebyte", "Zbyte", "Ybyte"}

var timeNames = [...]string{"nanosec", "microsec", "millisec", "sec", "min", "hour"}

// extraNames are the names of extra units, by kind and scale.
var extraNames = [...][]string{
	extraTemperature: {1: "temperature (C)", 2: "temperature (F)", 3: "temperature (K)"},
	extraVoltage:     {1: "voltage (V)", 2: "voltage (mV)", 3: "voltage (uV)"},
	extraCurrent:     {1: "current (A)", 2: "current (mA)", 3: "current (uA)"},
	extraPower:       {1: "power (kW)", 2: "power (W)", 3: "power (mW)", 4: "power (uW)"},
}

// extraName returns the name of u's extra unit, or "" if u has no extra unit or an unknown one.
func (u Units) extraName() string {
	kind, scale := u.Extra(), u.extraScale()
	if kind <= 0 || kind >= len(extraNames) || scale >= len(extraNames[kind]) {
		return ""
	}
	return extraNames[kind][scale]
}

// String is the text that pmUnitsStr(3) of PCP 6.0.3 gives: "Kbyte / sec",
// "count x 10^6", "" for no units. An extra unit comes first.
func (u Units) String() string {
	var buf [64]byte
	return string(u.AppendTo(buf[:0]))
}

// AppendTo appends String to b.
func (u Units) AppendTo(b []byte) []byte {
	start := len(b)
	b = append(b, u.extraName()...)
	if u.DimSpace() == 0 && u.DimTime() == 0 && u.DimCount() == 0 {
		if n := u.ScaleCount(); n != 0 {
			b = appendScale(separate(b, start), "x 10", n)
		}
		return b
	}
	b = u.appendWords(b, start, 1)
	if u.DimSpace() < 0 || u.DimTime() < 0 || u.DimCount() < 0 {
		b = append(separate(b, start), '/')
		b = u.appendWords(b, start, -1)
	}
	return b
}

// appendWords appends the units whose dimension has the sign.
func (u Units) appendWords(b []byte, start, sign int) []byte {
	if n := sign * u.DimSpace(); n > 0 {
		b = appendName(separate(b, start), spaceNames[:], "space-", u.ScaleSpace())
		b = appendPower(b, n)
	}
	if n := sign * u.DimTime(); n > 0 {
		b = appendName(separate(b, start), timeNames[:], "time-", u.ScaleTime())
		b = appendPower(b, n)
	}
	if n := sign * u.DimCount(); n > 0 {
		b = append(separate(b, start), "count"...)
		if s := u.ScaleCount(); s != 0 {
			b = appendScale(b, " x 10", s)
		}
		b = appendPower(b, n)
	}
	return b
}

// separate appends a blank unless nothing was written since start.
func separate(b []byte, start int) []byte {
	if len(b) > start {
		b = append(b, ' ')
	}
	return b
}

// appendName appends the name of a scale, or other and its number.
func appendName(b []byte, names []string, other string, scale int) []byte {
	if scale < len(names) {
		return append(b, names[scale]...)
	}
	return strconv.AppendInt(append(b, other...), int64(scale), 10)
}

// appendPower appends an exponent unless it is 1.
func appendPower(b []byte, n int) []byte {
	if n != 1 {
		b = strconv.AppendInt(append(b, '^'), int64(n), 10)
	}
	return b
}

// appendScale appends a power of ten.
func appendScale(b []byte, ten string, n int) []byte { return appendPower(append(b, ten...), n) }
