package tool

import (
	"context"
	"encoding/binary"
	"os"
	"strings"
	"time"
	_ "time/tzdata" // for systems without a time zone database

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// LoadZone returns the time zone that a value of TZ names, as the GNU C library reads it: the name
// of a file of the time zone database, with or without a colon before it, or a POSIX description
// such as "EST5EDT" or "CET-1CEST,M3.5.0,M10.5.0/3". Any other value means UTC. The counterpart of
// tzset(3).
func LoadZone(tz string) *time.Location {
	name := strings.TrimPrefix(tz, ":")
	switch {
	case name == "":
		return time.UTC
	case name[0] == '/':
		// With -z the collector chooses the name. It could name a device without an end.
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			break
		}
		if data, err := os.ReadFile(name); err == nil {
			if loc, err := time.LoadLocationFromTZData(name, data); err == nil {
				return loc
			}
		}
	case name != "Local": // a name of package time, not of the database
		if loc, err := time.LoadLocation(name); err == nil {
			return loc
		}
	}
	return posixZone(tz)
}

// HostZone returns the time zone of the source of pc as a value of TZ, for LoadZone. An archive has
// it in its label; for a collector, HostZone fetches the metric pmcd.timezone. If that fails for
// any reason, the error is pdu.ErrValue. The counterpart of pmNewContextZone(3).
func HostZone(ctx context.Context, pc *pmapi.Context) (tz string, err error) {
	if label, err := pc.ArchiveLabel(); err == nil {
		return label.TimeZone, nil
	}
	ids, err := pc.Lookup(ctx, []string{"pmcd.timezone"})
	if err != nil {
		return "", pdu.ErrValue
	}
	var r pdu.Result
	if err := pc.Fetch(ctx, ids, &r); err != nil || r.At(0).Len() != 1 {
		return "", pdu.ErrValue
	}
	if tz, err = pdu.As[string](r.At(0).Atom(0, pdu.TypeString)); err != nil {
		return "", pdu.ErrValue
	}
	return tz, nil
}

// LocalZone returns the time zone of the environment variable TZ, or time.Local if it is not set.
// Package time itself accepts only names of files in TZ.
func LocalZone() *time.Location {
	if tz, ok := os.LookupEnv("TZ"); ok {
		return LoadZone(tz)
	}
	return time.Local
}

// posixZone returns the time zone of a POSIX description. For times before 1970, the GNU C library
// uses the offset of the first day of 1970 all year: standard time, or daylight saving time south
// of the equator.
func posixZone(rule string) *time.Location {
	loc := zoneFile(rule, 0xffff_0000<<32, "UTC", 0, false) // from a time before any that is printed
	epoch := time.Unix(0, 0).In(loc)
	name, offset := epoch.Zone()
	return zoneFile(rule, 0, name, offset, epoch.IsDST())
}

// zoneFile returns a time zone that follows a POSIX description from a time on, in Unix seconds.
// Before that it has the given name, offset and daylight saving flag. In a file of the time zone
// database, a description at the end holds for all times after the last transition (RFC 9636). So
// zoneFile makes a file with one transition and the description.
func zoneFile(rule string, from uint64, name string, offset int, dst bool) *time.Location {
	const headerLen = 44
	header := func(transitions, types, chars int) []byte {
		b := make([]byte, headerLen)
		copy(b, "TZif2")
		binary.BigEndian.PutUint32(b[32:], uint32(transitions))
		binary.BigEndian.PutUint32(b[36:], uint32(types))
		binary.BigEndian.PutUint32(b[40:], uint32(chars))
		return b
	}
	kind := binary.BigEndian.AppendUint32(nil, uint32(offset)) // the one type: offset, daylight saving, name
	if dst {
		kind = append(kind, 1, 0)
	} else {
		kind = append(kind, 0, 0)
	}
	kind = append(append(kind, name...), 0)
	data := append(header(0, 1, len(name)+1), kind...) // the part of version 1, which is not read
	data = append(data, header(1, 1, len(name)+1)...)  // the header of version 2
	data = binary.BigEndian.AppendUint64(data, from)   // the transition,
	data = append(append(data, 0), kind...)            // to the same type; after it the description holds
	data = append(data, "\n"+rule+"\n"...)
	loc, err := time.LoadLocationFromTZData(rule, data)
	if err != nil {
		return time.UTC
	}
	return loc
}
