package mmv

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// Dump writes the contents of an MMV file in the format of PCP's mmvdump. It also shows a file that
// Read refuses, each section up to its first flaw. path is the file's name in the output. Intervals
// in progress count up to now. good is false if mmvdump would exit with 1, as it does at all flaws
// except invalid values and empty sections. Dump returns errors of w and src, and an error if src
// has more than 256 MiB.
func Dump(w io.Writer, path string, src Source, now time.Time) (good bool, err error) {
	size := src.Size()
	if size > maxFile {
		return false, fmt.Errorf("mmv: %s has %d bytes, limit %d", path, size, maxFile)
	}
	d := dumper{w: bufio.NewWriter(w), b: make([]byte, size), now: now}
	n, err := src.ReadAt(d.b, 0)
	if err != nil && err != io.EOF {
		return false, err
	}
	d.b = d.b[:n]
	good = d.header(path) && d.sections()
	return good, d.w.Flush()
}

// A dumper prints a file. Its methods that return a bool return false after they have printed what
// is wrong.
type dumper struct {
	w       *bufio.Writer
	b       []byte
	now     time.Time
	version Version
}

func (d *dumper) printf(format string, args ...any) { fmt.Fprintf(d.w, format, args...) }

// bad prints a flaw.
func (d *dumper) bad(format string, args ...any) bool {
	d.printf(format, args...)
	return false
}

func (d *dumper) fits(offset, n uint64) bool {
	return offset <= uint64(len(d.b)) && n <= uint64(len(d.b))-offset
}

func (d *dumper) uint32(offset uint64) uint32 { return native.Uint32(d.b[offset:]) }
func (d *dumper) uint64(offset uint64) uint64 { return native.Uint64(d.b[offset:]) }

// text is what C's printf prints of a string that begins at an offset: all up to the first NUL or
// the end of the file.
func (d *dumper) text(offset uint64) []byte {
	if offset > uint64(len(d.b)) {
		return nil
	}
	t, _ := cut(d.b[offset:])
	return t
}

// slot returns the string in the slot at an offset. The slot lies inside the file.
func (d *dumper) slot(offset uint64) []byte {
	t, _ := cut(d.b[offset:][:stringLen-1])
	return t
}

func (d *dumper) header(path string) bool {
	if len(d.b) < headerLen {
		return d.bad("Bad file size: too small for a header\n")
	}
	if string(d.b[headerMagic:headerMagic+len(magic)]) != magic {
		return d.bad("Bad magic: %s\n", d.b[headerMagic:headerMagic+len(magic)-1])
	}
	if d.version = Version(d.uint32(headerVersion)); !d.version.valid() {
		return d.bad("Version %d not supported\n", d.version)
	}
	g1, g2 := d.uint64(headerGeneration1), d.uint64(headerGeneration2)
	d.printf("MMV file   = %s\nVersion    = %d\nGenerated  = %d\n", path, d.version, g1)
	if g1 != g2 {
		return d.bad("Generated2 = %d\nMismatched generation numbers (%d/%d)\n", g2, g1, g2)
	}
	n := d.uint32(headerSections)
	d.printf("TOC count  = %d\n", n)
	if int32(n) < 2 {
		return d.bad("Bad tocs: invalid table of contents count (%d)\n", int32(n))
	}
	cluster := d.uint32(headerCluster)
	d.printf("Cluster    = %d\n", cluster)
	if cluster > maxCluster {
		return d.bad("Bad cluster: %d is not a valid cluster ID\n", int32(cluster))
	}
	flags := d.uint32(headerFlags)
	d.printf("Process    = %d\nFlags      = 0x%x (%v)\n", int32(d.uint32(headerProcess)), flags, fileFlags(flags))
	if !d.fits(headerLen, uint64(n)*entryLen) {
		return d.bad("Bad file size: too small for %d TOC entries\n", n)
	}
	return true
}

func (d *dumper) sections() bool {
	good := true
	for i := range int(d.uint32(headerSections)) {
		entry := headerLen + uint64(i)*entryLen
		kind, n, offset := d.uint32(entry+entryKind), int(int32(d.uint32(entry+entryCount))), d.uint64(entry+entryOffset)
		if n == 0 {
			d.printf("Bad TOC[%d]: invalid entry count %d\n", i, n)
			continue
		}
		if !d.section(sectionKind(kind), i, entry, offset, n) {
			good = false
		}
	}
	return good
}

// section prints n records of a section whose entry in the table of contents is number toc. If n
// is negative it prints no records.
func (d *dumper) section(kind sectionKind, toc int, entry, offset uint64, n int) bool {
	var title string
	var shown any = offset
	var records func(toc int, offset uint64, n int) bool
	switch kind {
	case sectionInDoms:
		title, records = "offset %d, indoms", d.inDoms
	case sectionInstances:
		title, shown, records = "offset %d, instances", int64(offset), d.instances
	case sectionMetrics:
		title, shown, records = "toc offset %d, metrics", int64(offset), d.metrics
	case sectionValues:
		title, records = "offset %d, values", d.values
	case sectionStrings:
		title, records = "offset %d, string", d.strings
	case sectionLabels:
		title, shown, records = "offset %d, labels", int64(offset), d.labels
	default:
		return d.bad("Unrecognised TOC[%d] type: 0x%x\n", toc, uint32(kind))
	}
	d.printf("\nTOC[%d]: "+title+" offset %d (%d entries)\n", toc, entry, shown, n)
	return records(toc, offset, n)
}

func (d *dumper) inDoms(toc int, offset uint64, n int) bool {
	for i := range n {
		off := offset + uint64(i)*indomLen
		if !d.fits(off, indomLen) {
			return d.bad("Bad file size: too small for toc[%d] indom[%d]\n", toc, i)
		}
		d.printf("  [%d/%d] %d instances, starting at offset %d\n", d.uint32(off+indomSerial), int64(off),
			int32(d.uint32(off+indomCount)), int64(d.uint64(off+indomInstances)))
		if !d.texts("indom", toc, i, off+indomShort) {
			return false
		}
	}
	return true
}

// texts prints the texts whose offsets are at an offset.
func (d *dumper) texts(kind string, toc, i int, offset uint64) bool {
	for k, text := range [...]struct{ name, field string }{{"shorttext", "oneline"}, {"helptext", "help"}} {
		switch off := d.uint64(offset + uint64(k)*8); {
		case off == 0:
			d.printf("       (no %s)\n", text.name)
		case !d.fits(off, stringLen):
			return d.bad("Bad file size: too small for toc[%d] %s[%d] %s\n", toc, kind, i, text.field)
		default:
			d.printf("       %s=%s\n", text.name, d.slot(off))
		}
	}
	return true
}

func (d *dumper) instances(toc int, offset uint64, n int) bool {
	length := uint64(d.version.instanceLen())
	for i := range n {
		off := offset + uint64(i)*length
		if !d.fits(off, length) {
			return d.bad("\nBad file size: too small for toc[%d] inst[%d]\n", toc, i)
		}
		indom, name := d.uint64(off+instanceInDom), []byte(nil)
		switch {
		case d.fits(indom, indomLen):
		case d.version == version1:
			return d.bad("\nBad file size: too small for toc[%d] indom[%d]\n", toc, i)
		default:
			return d.bad("\nBad file size: too small for toc[%d] inst[%d] indom\n", toc, i)
		}
		if d.version == version1 {
			name = d.text(off + instanceName)
		} else {
			at := d.uint64(off + instanceName)
			if !d.fits(at, stringLen) {
				return d.bad("\nBad file size: too small for toc[%d] inst[%d] name\n", toc, i)
			} else if at == 0 {
				return d.bad("\nBad file: invalid offset for toc[%d] inst[%d] name\n", toc, i)
			}
			name = d.slot(at)
		}
		// mmvdump prints the offset that the record would have in version 1.
		shown := offset + uint64(i*version1.instanceLen())
		d.printf("  [%d/%d] instance = [%d or \"%s\"]\n", d.uint32(indom+indomSerial), int64(shown),
			int32(d.uint32(off+instanceID)), name)
	}
	return true
}

func (d *dumper) metrics(toc int, offset uint64, n int) bool {
	length := uint64(d.version.metricLen())
	for i := range n {
		off := offset + uint64(i)*length
		if !d.fits(off, length) {
			return d.bad("Bad file size: too small for toc[%d] metric[%d]\n", toc, i)
		}
		name, ok := d.metricName(off, toc, "metric", i, "name")
		if !ok {
			return false
		}
		rest := off + uint64(d.version.nameLen())
		kind, sem := d.uint32(rest+metricType), d.uint32(rest+metricSem)
		d.printf("  [%d/%d] %s\n", d.uint32(rest+metricItem), int64(off), name)
		d.printf("       type=%s (0x%x), sem=%s (0x%x), pad=0x%x\n", typeName(kind), kind, semName(sem), sem,
			d.uint32(rest+metricInDom+4))
		d.printf("       units=%v\n", pdu.Units(d.uint32(rest+metricUnits)))
		if serial := int32(d.uint32(rest + metricInDom)); serial == 0 || serial == noSerial {
			d.printf("       (no indom)\n")
		} else {
			d.printf("       indom=%d\n", serial)
		}
		if !d.texts("metric", toc, i, rest+metricShort) {
			return false
		}
	}
	return true
}

// metricName returns the name of the metric whose record is at an offset. The record lies inside
// the file.
func (d *dumper) metricName(offset uint64, toc int, kind string, i int, field string) (name []byte, ok bool) {
	if d.version == version1 {
		return d.text(offset + metricName), true
	}
	at := d.uint64(offset + metricName)
	if !d.fits(at, stringLen) {
		return nil, d.bad("Bad file size: too small for toc[%d] %s[%d] %s\n", toc, kind, i, field)
	} else if at == 0 {
		return nil, d.bad("Bad file: invalid offset for toc[%d] %s[%d] %s\n", toc, kind, i, field)
	}
	return d.slot(at), true
}

// typeName is what mmvdump calls the types of values.
func typeName(t uint32) string {
	switch valueType(t) {
	case type32:
		return "32-bit int"
	case typeU32:
		return "32-bit unsigned int"
	case type64:
		return "64-bit int"
	case typeU64:
		return "64-bit unsigned int"
	case typeFloat:
		return "float"
	case typeDouble:
		return "double"
	case typeString:
		return "string"
	case typeElapsed:
		return "elapsed"
	}
	return "?"
}

func semName(s uint32) string {
	switch pdu.Sem(s) {
	case pdu.SemCounter, pdu.SemInstant, pdu.SemDiscrete:
		return pdu.Sem(s).String()
	}
	return "?"
}

func (d *dumper) strings(toc int, offset uint64, n int) bool {
	for i := range n {
		// mmvdump does not check the string's own offset, but the one that value number i would
		// have. So it also prints strings after the end of the file, as empty ones, up to the end
		// of its last page.
		off := offset + uint64(i)*stringLen
		if !d.fits(offset+uint64(i)*valueLen, stringLen) || off >= uint64(len(d.b)+mappedPage-1)&^(mappedPage-1) {
			return d.bad("Bad file size: toc[%d] string[%d]\n", toc, i)
		}
		d.printf("  [%d/%d] %s\n", i+1, off, d.text(off))
	}
	return true
}

// mappedPage is the length of a page of memory for mmvdump.
const mappedPage = 4 << 10

func (d *dumper) labels(toc int, offset uint64, n int) bool {
	for i := range n {
		off := offset + uint64(i)*labelLen
		if !d.fits(off, labelLen) {
			return d.bad("Bad file size: too small for toc[%d] metric[%d]\n", toc, i)
		}
		d.printf("  [%d/%d] %s\n", i+1, off, d.text(off+labelJSON))
		d.printf("        flags=0x%x, identity=0x%x\n", d.uint32(off+labelFlags), d.uint32(off+labelIdentity))
		d.printf("        internal=0x%x\n", d.uint32(off+labelInstance))
	}
	return true
}
