package tool

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var intervalTerm = regexp.MustCompile(`^\s*([0-9.]+(?:[eE][0-9]+)?)\s*([a-zA-Z]*)\s*`)

// parseInterval adds up numbers of seconds, or of units that follow them.
func parseInterval(s string) (time.Duration, error) {
	if s == "" {
		return 0, errors.New("\n^ -- Null or empty specification")
	}
	units := map[string]float64{"": 1, "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hr": 3600,
		"hour": 3600, "d": 86400, "day": 86400, "msec": 1e-3, "millisecond": 1e-3, "usec": 1e-6, "microsecond": 1e-6,
		"nsec": 1e-9, "nanosecond": 1e-9}
	var sum float64
	for rest := s; strings.TrimSpace(rest) != ""; {
		m := intervalTerm.FindStringSubmatch(rest)
		unit, ok := 0.0, false
		if m != nil {
			if unit, ok = units[strings.ToLower(m[2])]; !ok {
				unit, ok = units[strings.TrimSuffix(strings.ToLower(m[2]), "s")]
			}
		}
		v, err := 0.0, error(nil)
		if ok {
			v, err = strconv.ParseFloat(m[1], 64)
		}
		if !ok || err != nil {
			return 0, errors.New(s + "\n" + strings.Repeat(" ", len(s)-len(rest)) + "^ -- unexpected value")
		}
		sum += v * unit
		rest = rest[len(m[0]):]
	}
	return time.Duration(sum * float64(time.Second)), nil
}
