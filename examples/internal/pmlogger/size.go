package pmlogger

import (
	"fmt"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/pmapi"
)

// A size is the argument of -s or -v: a number of records or bytes, or a time. A number of bytes
// above 2^62 means no limit.
type size struct {
	records int
	bytes   int64
	after   time.Duration
}

// byteUnits are the units of bytes, in lower case and without the s of a plural.
var byteUnits = map[string]int64{
	"b": 1, "byte": 1,
	"k": 1 << 10, "kb": 1 << 10, "kib": 1 << 10, "kbyte": 1 << 10, "kilobyte": 1 << 10, "kibibyte": 1 << 10,
	"m": 1 << 20, "mb": 1 << 20, "mib": 1 << 20, "mbyte": 1 << 20, "megabyte": 1 << 20, "mebibyte": 1 << 20,
	"g": 1 << 30, "gb": 1 << 30, "gib": 1 << 30, "gbyte": 1 << 30, "gigabyte": 1 << 30, "gibibyte": 1 << 30,
}

// set returns a function that sets a size. The last s of the argument is ignored, so "2s" is two
// records. what names the option in the error.
func (s *size) set(what string) func(string) error {
	return func(text string) error {
		if n := len(text) - 1; n > 0 && text[n]|0x20 == 's' {
			text = text[:n]
		}
		var ok bool
		if *s, ok = parseSize(text); !ok {
			return fmt.Errorf("illegal size argument '%s' for %s", text, what)
		}
		return nil
	}
}

func parseSize(text string) (s size, ok bool) {
	n, rest, _ := scan.Int(text)
	if n <= 0 {
		return s, false
	}
	if unit, is := byteUnits[strings.ToLower(rest)]; is {
		if n <= 1<<62/unit {
			s.bytes = n * unit
		}
		return s, true
	}
	if rest == "" {
		s.records = int(max(int32(n), 0)) // as in C, which keeps 32 bits
		return s, true
	}
	d, err := pmapi.ParseInterval(text)
	s.after = d
	return s, err == nil
}
