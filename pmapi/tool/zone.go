package tool

import (
	"encoding/binary"
	"os"
	"strings"
	"time"
	_ "time/tzdata" // for systems without a zone data base
)

// LoadZone is the zone that a value of TZ stands for, as the GNU C library reads it: the name of a file of the zone
// data base, with or without a colon before it, or a POSIX description such as "EST5EDT" or
// "CET-1CEST,M3.5.0,M10.5.0/3". What is neither stands for UTC.
func LoadZone(tz string) *time.Location {
	name := strings.TrimPrefix(tz, ":")
	switch {
	case name == "":
		return time.UTC
	case name[0] == '/':
		// A collector may have named it: a device would have no end.
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			break
		}
		if data, err := os.ReadFile(name); err == nil {
			if loc, err := time.LoadLocationFromTZData(name, data); err == nil {
				return loc
			}
		}
	case name != "Local": // which is not one of the data base's names
		if loc, err := time.LoadLocation(name); err == nil {
			return loc
		}
	}
	return posixZone(tz)
}

// newZone is the zone of an argument of pmNewZone(3): of three letters without an offset, as "UTC", but also "EST",
// that function makes one without an offset.
func newZone(tz string) *time.Location {
	if len(tz) == 3 {
		tz += "+0"
	}
	return LoadZone(tz)
}

// LocalZone is the zone of the tool's environment, that of a tool whose times -z and -Z do not change. The time package takes only names of files for a TZ.
func LocalZone() *time.Location {
	if tz, ok := os.LookupEnv("TZ"); ok {
		return LoadZone(tz)
	}
	return time.Local
}

// posixZone makes a zone of a POSIX description. That is how a file of the data base ends (RFC 9636): with the rule for
// all later times. So it comes from a file with a single transition, long ago, and that rule.
func posixZone(rule string) *time.Location {
	const headerLen = 44
	header := func(transitions, types, chars int) []byte {
		b := make([]byte, headerLen)
		copy(b, "TZif2")
		binary.BigEndian.PutUint32(b[32:], uint32(transitions))
		binary.BigEndian.PutUint32(b[36:], uint32(types))
		binary.BigEndian.PutUint32(b[40:], uint32(chars))
		return b
	}
	data := header(0, 1, 4)                                     // the part of version 1, which nobody reads
	data = append(data, 0, 0, 0, 0, 0, 0, 'U', 'T', 'C', 0)     // UTC: offset 0, no daylight saving, name
	data = append(data, header(1, 1, 4)...)                     // that of version 2
	data = binary.BigEndian.AppendUint64(data, 0xffff_0000<<32) // the transition: at a time before all that we print
	data = append(data, 0, 0, 0, 0, 0, 0, 0, 'U', 'T', 'C', 0)  // is to the first type, UTC
	data = append(data, "\n"+rule+"\n"...)
	loc, err := time.LoadLocationFromTZData(rule, data)
	if err != nil {
		return time.UTC
	}
	return loc
}
