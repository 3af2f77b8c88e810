package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/pcp-go/pcp/internal/wire"
	"github.com/pcp-go/pcp/pdu"
)

// VolumeMeta and VolumeIndex stand for the metadata and the index in place of a volume number, in
// labels and in this package.
const (
	VolumeMeta  = -1 // PM_LOG_VOL_META
	VolumeIndex = -2 // PM_LOG_VOL_TI
)

// featureQA is the only feature bit in use, in PCP's own tests.
const featureQA = 1 << 31

const (
	labelMagic  = 0x50052600 // PM_LOG_MAGIC; the version is in the last byte
	labelLenV2  = 132
	labelLenV3  = 808
	maxLabelLen = labelLenV3
)

// A Label is the first record of every file of an archive. It is pmLogLabel and
// pmHighResLogLabel of the C library.
//
//	version 2, 132 bytes                       version 3, 808 bytes
//	  0  int32      132                          0  int32       808
//	  4  uint32     0x50052602                   4  uint32      0x50052603
//	  8  int32      PID                          8  int32       PID
//	 12  timeval    Start                       12  timestamp   Start
//	 20  int32      Volume                      24  int32       Volume
//	                                            28  uint32      Features
//	                                            32  uint32      0
//	 24  64 bytes   Host                        36  256 bytes   Host
//	 88  40 bytes   TimeZone                   292  256 bytes   TimeZone
//	                                           548  256 bytes   ZoneInfo
//	128  int32      132                        804  int32       808
//
// A timeval is int32 seconds and int32 microseconds. A timestamp is the low 32 bits of the
// seconds, then the high 32 bits, then int32 nanoseconds. Texts end with a NUL.
type Label struct {
	Version  int // 2 or 3
	PID      int32
	Start    time.Time // when recording began
	Volume   int       // or VolumeMeta, VolumeIndex
	Features uint32    // 0 in version 2
	Host     string    // where the values are from
	TimeZone string    // of that host, as in $TZ; tool.LoadZone of pmapi/tool makes it a time.Location
	ZoneInfo string    // of that host, such as ":Europe/Berlin"; "" in version 2
}

// Len returns the length of the record, 132 or 808. The next record begins at this offset.
func (l *Label) Len() int64 { return labelLen(l.Version) }

func labelLen(version int) int64 {
	if version == 2 {
		return labelLenV2
	}
	return labelLenV3
}

// readTime reads a timeval of version 2, or a timestamp of version 3.
func readTime(c *wire.Cursor, version int) time.Time {
	if version == 2 {
		sec, usec := c.Int32("seconds"), c.Int32("microseconds")
		return time.Unix(int64(sec), int64(usec)*1000)
	}
	low, high, nsec := c.Uint32("seconds"), c.Int32("seconds"), c.Int32("nanoseconds")
	return time.Unix(int64(high)<<32|int64(low), int64(nsec))
}

// timeLen returns the number of bytes that readTime reads.
func timeLen(version int) int {
	if version == 2 {
		return 8
	}
	return 12
}

// timeAt reads a time. The caller has checked the length of b.
func timeAt(b []byte, version int) time.Time {
	if version == 2 {
		return time.Unix(int64(int32(binary.BigEndian.Uint32(b))), int64(int32(binary.BigEndian.Uint32(b[4:])))*1000)
	}
	sec := int64(int32(binary.BigEndian.Uint32(b[4:])))<<32 | int64(binary.BigEndian.Uint32(b))
	return time.Unix(sec, int64(int32(binary.BigEndian.Uint32(b[8:]))))
}

// decode decodes l from b, the start of a file. b may be longer than the label. If b is too short,
// the error wraps io.ErrUnexpectedEOF.
func (l *Label) decode(b []byte) error {
	if len(b) < 8 {
		return cutShort(pdu.ErrNoData, "%d bytes, too short for a label", len(b))
	}
	length, magic := int64(int32(binary.BigEndian.Uint32(b))), binary.BigEndian.Uint32(b[4:])
	if magic&^0xff != labelMagic {
		return flawed(pdu.ErrLabel, "label magic is %#x, want %#x", magic&^0xff, labelMagic)
	}
	l.Version = int(magic & 0xff)
	if l.Version != 2 && l.Version != 3 {
		return flawed(pdu.ErrLabel, "archive of version %d, want 2 or 3", l.Version)
	}
	if length != l.Len() {
		return flawed(pdu.ErrLabel, "length of the label is %d, want %d in version %d", length, l.Len(), l.Version)
	}
	if int64(len(b)) < length {
		return cutShort(pdu.ErrLabel, "%d bytes, too short for a label of %d", len(b), length)
	}
	c := wire.New(b[:length], 0)
	c.Skip(8, "magic")
	l.PID, l.Start, l.Volume = c.Int32("pid"), readTime(&c, l.Version), int(c.Int32("volume"))
	texts := []int{64, 40, 0}
	if l.Version == 3 {
		l.Features = c.Uint32("features")
		c.Skip(4, "reserved")
		texts = []int{256, 256, 256}
	}
	for i, p := range []*string{&l.Host, &l.TimeZone, &l.ZoneInfo} {
		if texts[i] == 0 {
			continue
		}
		text, _, _ := bytes.Cut(c.Bytes(texts[i]-1, "text"), []byte{0})
		c.Skip(1, "NUL") // any byte, as in the C library
		*p = string(text)
	}
	if trailer := int64(c.Int32("trailer")); trailer != length {
		return flawed(pdu.ErrLabel, "label ends with length %d, begins with %d", trailer, length)
	}
	return c.Done()
}

// Append appends the encoded label to b. After an error it returns b unchanged. The error is
// pdu.ErrTooBig for a text that is too long and for a start that version 2 cannot hold, and
// pdu.ErrLabel for an unknown version.
func (l *Label) Append(b []byte) ([]byte, error) {
	texts := []int{64, 40, 0}
	switch l.Version {
	case 2:
	case 3:
		texts = []int{256, 256, 256}
	default:
		return b, flawed(pdu.ErrLabel, "label of version %d, want 2 or 3", l.Version)
	}
	out := binary.BigEndian.AppendUint32(b, uint32(l.Len()))
	out = binary.BigEndian.AppendUint32(out, labelMagic|uint32(l.Version))
	out = binary.BigEndian.AppendUint32(out, uint32(l.PID))
	out, err := appendTime(out, l.Version, l.Start)
	if err != nil {
		return b, err
	}
	out = binary.BigEndian.AppendUint32(out, uint32(int32(l.Volume)))
	if l.Version == 3 {
		out = binary.BigEndian.AppendUint32(out, l.Features)
		out = binary.BigEndian.AppendUint32(out, 0)
	}
	for i, text := range []string{l.Host, l.TimeZone, l.ZoneInfo} {
		if len(text) >= max(texts[i], 1) {
			return b, flawed(pdu.ErrTooBig, "text %q in a label, of which version %d has %d bytes", text, l.Version, max(texts[i]-1, 0))
		}
		out = append(out, text...)
		out = append(out, make([]byte, texts[i]-len(text))...)
	}
	return binary.BigEndian.AppendUint32(out, uint32(l.Len())), nil
}

// appendTime appends a time in the form that readTime reads.
func appendTime(b []byte, version int, t time.Time) ([]byte, error) {
	sec, nsec := t.Unix(), t.Nanosecond()
	if version == 2 {
		if sec != int64(int32(sec)) {
			return b, flawed(pdu.ErrTooBig, "time %v is beyond the 32-bit seconds of version 2", t)
		}
		b = binary.BigEndian.AppendUint32(b, uint32(sec))
		return binary.BigEndian.AppendUint32(b, uint32(nsec/1000)), nil
	}
	b = binary.BigEndian.AppendUint32(b, uint32(sec))
	b = binary.BigEndian.AppendUint32(b, uint32(sec>>32))
	return binary.BigEndian.AppendUint32(b, uint32(nsec)), nil
}

// readLabel reads the label at the start of a file.
func readLabel(r io.ReaderAt) (Label, error) {
	b := make([]byte, maxLabelLen)
	n, err := r.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Label{}, withoutPath(err)
	}
	var l Label
	return l, l.decode(b[:n])
}

// check checks a label against the file that has it.
func (l *Label) check(volume int, anyFeature bool) error {
	if l.Volume != volume {
		return flawed(pdu.ErrLabel, "label is that of %s, want that of %s", volumeName(l.Volume), volumeName(volume))
	}
	if unknown := l.Features &^ featureQA; unknown != 0 && !anyFeature {
		return flawed(pdu.ErrFeature, "features %#x are not known", unknown)
	}
	return nil
}

// sameArchive checks that l and the label of another file are of one archive.
func (l *Label) sameArchive(of *Label) error {
	switch {
	case l.Version != of.Version:
		return flawed(pdu.ErrLabel, "label of version %d, that of %s has %d", l.Version, volumeName(of.Volume), of.Version)
	case l.PID != of.PID || l.Host != of.Host:
		return flawed(pdu.ErrLabel, "label of process %d, host %q: another archive than that of %s, of process %d, host %q",
			l.PID, l.Host, volumeName(of.Volume), of.PID, of.Host)
	}
	return nil
}

// volumeName names a file by the volume in its label.
func volumeName(volume int) string {
	switch volume {
	case VolumeMeta:
		return "the metadata"
	case VolumeIndex:
		return "the index"
	}
	return "volume " + strconv.Itoa(volume)
}
