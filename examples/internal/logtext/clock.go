package logtext

import (
	"math"
	"time"
)

// Digits of the second that tools print.
const (
	Millis = 3 // pmloglabel, pmlogsummary, pmlogcheck
	Micros = 6 // pmdumplog on archives of version 2
	Nanos  = 9 // pmdumplog on archives of version 3
)

// A Clock formats times of day in one zone, such as 18:34:32.257504. It caches the last second,
// because the times of an archive ascend. It may be used by one goroutine at a time.
type Clock struct {
	Location *time.Location
	Digits   int // Millis, Micros or Nanos; what is beyond them is cut off

	second int64
	hms    [8]byte
	known  bool
}

// Append appends a time of day.
func (c *Clock) Append(b []byte, t time.Time) []byte {
	if second := t.Unix(); !c.known || second != c.second {
		c.second, c.known = second, true
		t.In(c.Location).AppendFormat(c.hms[:0], time.TimeOnly)
	}
	b = append(append(b, c.hms[:]...), '.')
	fraction := t.Nanosecond()
	for range Nanos - c.Digits {
		fraction /= 10
	}
	start := len(b)
	for range c.Digits {
		b = append(b, '0')
	}
	for i := len(b) - 1; i >= start; i-- {
		b[i] += byte(fraction % 10)
		fraction /= 10
	}
	return b
}

// AppendDate appends a time with its date, such as Thu Aug  6 18:34:32.257504 1998.
func (c *Clock) AppendDate(b []byte, t time.Time) []byte {
	local := t.In(c.Location)
	b = append(local.AppendFormat(b, "Mon Jan _2"), ' ')
	b = append(c.Append(b, t), ' ')
	return local.AppendFormat(b, "2006")
}

// Seconds returns the time from a to b in seconds, rounded as in the C library.
func Seconds(a, b time.Time) float64 {
	return float64(b.Unix()-a.Unix()) + float64(b.Nanosecond()-a.Nanosecond())/math.Pow10(Nanos)
}
