package pmlc

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/pcp-go/pcp/internal/wire"
	"github.com/pcp-go/pcp/pdu"
)

// A Status is what a logger says about itself. It is LOG_STATUS of version 3,
//
//	12  start · last · now   each: uint32 seconds, low half · int32 high half · int32 nanoseconds
//	48  int32  1 if there is an archive, 0 if not yet
//	52  int32  volume
//	56  int64  its size
//	64  6 × int32  lengths of the six strings with a NUL, 0 for an empty one
//	88  …      the strings, one after the other, padded
//
// and of version 2, which has no ZoneInfo and shorter strings, each with NULs up to its length:
//
//	12  4 bytes that mean nothing
//	16  start · last · now   each: int32 seconds · int32 microseconds
//	40  int32 · 44 int32 · 48 int64, as above
//	56  64 bytes Host · 120 64 bytes Source · 184 40 bytes Zone · 224 40 bytes LoggerZone
type Status struct {
	Version int       // of the layout: Version2, or anything else for Version3
	Start   time.Time // of the archive
	Last    time.Time // when values were last recorded
	Now     time.Time // by the logger's clock
	Active  bool      // there is an archive; if not, the times, Volume and Size mean nothing
	Volume  int       // that is being written
	Size    int64     // of that volume, in bytes

	Host           string // whose metrics are recorded
	Source         string // how the logger is connected to their collector, as after -h
	Zone           string // the host's
	ZoneInfo       string // the name of the host's zone, as ":Europe/Berlin"
	LoggerZone     string // the logger's
	LoggerZoneInfo string
}

const (
	maxString  = 256 // the length of a string with its NUL in version 3
	lenHostV2  = 64
	lenZoneV2  = 40
	statusPad  = '~'
	numStrings = 6
)

// Kind is KindStatus, or KindStatusV2 of Version2.
func (p *Status) Kind() pdu.Kind {
	if p.Version == Version2 {
		return KindStatusV2
	}
	return KindStatus
}

// strings are the strings in the order of the layout.
func (p *Status) strings() [numStrings]*string {
	return [...]*string{&p.Host, &p.Source, &p.Zone, &p.ZoneInfo, &p.LoggerZone, &p.LoggerZoneInfo}
}

// Append adds the body to b. Strings that are too long are cut, as C loggers do.
func (p *Status) Append(b []byte) ([]byte, error) {
	if p.Volume != int(int32(p.Volume)) {
		return b, refuse(p.Kind(), "volume %d", p.Volume)
	}
	if p.Version == Version2 {
		return p.appendV2(b), nil
	}
	for _, t := range []time.Time{p.Start, p.Last, p.Now} {
		sec, nsec := seconds(t)
		b = binary.BigEndian.AppendUint32(b, uint32(sec))
		b = binary.BigEndian.AppendUint32(b, uint32(sec>>32))
		b = binary.BigEndian.AppendUint32(b, uint32(nsec))
	}
	b = p.appendVolume(b)
	lengths := len(b)
	b = append(b, make([]byte, 4*numStrings)...)
	start := len(b)
	for i, s := range p.strings() {
		if *s == "" {
			continue
		}
		text := (*s)[:min(len(*s), maxString-1)]
		binary.BigEndian.PutUint32(b[lengths+4*i:], uint32(len(text)+1))
		b = append(append(b, text...), 0)
	}
	for (len(b)-start)%4 != 0 {
		b = append(b, statusPad)
	}
	return b, nil
}

func (p *Status) appendV2(b []byte) []byte {
	b = append(b, statusPad, statusPad, statusPad, statusPad)
	for _, t := range []time.Time{p.Start, p.Last, p.Now} {
		sec, nsec := seconds(t)
		b = binary.BigEndian.AppendUint32(b, uint32(sec))
		b = binary.BigEndian.AppendUint32(b, uint32(nsec/1000))
	}
	b = p.appendVolume(b)
	b = appendFixed(b, p.Host, lenHostV2)
	b = appendFixed(b, p.Source, lenHostV2)
	b = appendFixed(b, p.Zone, lenZoneV2)
	return appendFixed(b, p.LoggerZone, lenZoneV2)
}

// seconds is a time as seconds and nanoseconds; the zero Time is 0.
func seconds(t time.Time) (sec, nsec int64) {
	if t.IsZero() {
		return 0, 0
	}
	return t.Unix(), int64(t.Nanosecond())
}

// appendVolume adds the fields that both versions have.
func (p *Status) appendVolume(b []byte) []byte {
	active := uint32(0)
	if p.Active {
		active = 1
	}
	b = binary.BigEndian.AppendUint32(b, active)
	b = binary.BigEndian.AppendUint32(b, uint32(p.Volume))
	return binary.BigEndian.AppendUint64(b, uint64(p.Size))
}

// appendFixed adds a string with NULs up to a length, and one at least.
func appendFixed(b []byte, s string, length int) []byte {
	n := min(len(s), length-1)
	b = append(b, s[:n]...)
	return append(b, make([]byte, length-n)...)
}

// Decode fills p from a body, in the layout of p.Version.
func (p *Status) Decode(body []byte) error {
	c := wire.New(body, pdu.HeaderLen)
	*p = Status{Version: p.Version}
	if p.Version == Version2 {
		p.decodeV2(&c)
	} else {
		p.decodeV3(&c)
	}
	err := c.Done()
	if err != nil {
		*p = Status{Version: p.Version}
	}
	return malformed(p.Kind(), err)
}

func (p *Status) decodeV3(c *wire.Cursor) {
	for _, t := range []*time.Time{&p.Start, &p.Last, &p.Now} {
		low, high := c.Uint32("seconds"), c.Int32("seconds")
		*t = stamp(c, int64(high)<<32|int64(low), int64(c.Int32("nanoseconds")))
	}
	p.decodeVolume(c)
	var lengths [numStrings]int
	total := 0
	for i := range lengths {
		lengths[i] = int(c.Int32("length"))
		if lengths[i] < 0 || lengths[i] > maxString {
			c.Fail("length", 4, "%d out of range (0..%d)", lengths[i], maxString)
		}
		total += lengths[i]
	}
	for i, s := range p.strings() {
		*s = text(c.Bytes(lengths[i], "string"))
	}
	c.Skip(min(wire.Pad4(total)-total, c.Left()), "padding")
}

func (p *Status) decodeV2(c *wire.Cursor) {
	c.Skip(4, "padding")
	for _, t := range []*time.Time{&p.Start, &p.Last, &p.Now} {
		sec := c.Int32("seconds")
		*t = stamp(c, int64(sec), 1000*int64(c.Int32("microseconds")))
	}
	p.decodeVolume(c)
	p.Host, p.Source = text(c.Bytes(lenHostV2, "host")), text(c.Bytes(lenHostV2, "source"))
	p.Zone, p.LoggerZone = text(c.Bytes(lenZoneV2, "zone")), text(c.Bytes(lenZoneV2, "logger zone"))
}

// stamp is a time of a layout, zero if both parts are.
func stamp(c *wire.Cursor, sec, nsec int64) time.Time {
	switch {
	case nsec < 0 || nsec >= 1e9:
		c.Fail("nanoseconds", 4, "%d not in 0..999999999", nsec)
		return time.Time{}
	case sec == 0 && nsec == 0:
		return time.Time{}
	}
	return time.Unix(sec, nsec)
}

func (p *Status) decodeVolume(c *wire.Cursor) {
	p.Active = c.Int32("state") != 0
	p.Volume = int(c.Int32("volume"))
	p.Size = c.Int64("size")
}

// text is a string up to its NUL, which the last byte is in any case.
func text(b []byte) string {
	b = b[:max(len(b)-1, 0)]
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
