package mmv

import (
	"bytes"
	"fmt"
	"math"

	"github.com/pcp-go/pcp/internal/wire"
	"github.com/pcp-go/pcp/pdu"
)

// A parser fills a File from the bytes of a file. Nothing that they say is used before it has been
// checked.
type parser struct {
	f        *File
	b        []byte
	pooled   *[pooledLen]byte // memory for b; nil if the file is longer
	sect     [sectionLabels + 1]section
	metricOf []int32 // of each record of a metric: which of f.Metrics it is, or leftOut
	textLeft int     // bytes that may still be copied for names and texts
	chunk    []byte  // what was copied last, with room for more
}

// A section is an entry of the table of contents. The zero section means that the file lacks it.
type section struct {
	count  uint32
	offset uint64
}

// The names and texts of a File take at most textFactor times the length of the file, plus textMin
// bytes. Many records can use the same string, so without this limit a small file could take much
// memory.
const (
	textFactor = 2
	textMin    = 1 << 20
)

func (p *parser) fail(section string, offset int64, format string, args ...any) error {
	return &formatError{file: p.f.Path, section: section, offset: offset, problem: fmt.Sprintf(format, args...)}
}

// leaveOut records a flaw. The caller ignores the part that has it.
func (p *parser) leaveOut(kind sectionKind, offset uint64, format string, args ...any) {
	if p.f.Flaws++; p.f.Flaws <= maxProblems {
		p.f.Problems = append(p.f.Problems, p.fail(kind.String(), int64(min(offset, math.MaxInt64)), format, args...))
	}
}

// header reads the header. The caller has read all of its bytes.
func (p *parser) header() error {
	b, f := p.b, p.f
	if string(b[headerMagic:headerMagic+len(magic)]) != magic {
		return p.fail("header", headerMagic, "no MMV file: it begins with %q", b[:len(magic)])
	}
	if f.Version = Version(native.Uint32(b[headerVersion:])); !f.Version.valid() {
		return p.fail("header", headerVersion, "version %d, want 1, 2 or 3", f.Version)
	}
	f.Generation = native.Uint64(b[headerGeneration1:])
	if g := native.Uint64(b[headerGeneration2:]); f.Generation == 0 || f.Generation != g {
		return &formatError{file: f.Path, section: "header", offset: headerGeneration1,
			problem: fmt.Sprintf("generation %d, then %d", f.Generation, g), err: ErrInFlux}
	}
	n := int32(native.Uint32(b[headerSections:]))
	if n < 2 {
		return p.fail("header", headerSections, "%d sections, want at least 2", n)
	}
	if int64(n) > (f.size-headerLen)/entryLen {
		return p.fail("header", headerSections, "%d sections do not fit into %d bytes", n, f.size)
	}
	f.flags = fileFlags(native.Uint32(b[headerFlags:]))
	f.NoPrefix = f.flags&flagNoPrefix != 0
	if f.flags&flagProcess != 0 {
		f.PID = int(int32(native.Uint32(b[headerProcess:])))
	}
	f.Cluster = int(int32(native.Uint32(b[headerCluster:])))
	if f.Cluster < 0 || f.Cluster > maxCluster {
		return p.fail("header", headerCluster, "cluster %d, want 0 to %d", f.Cluster, maxCluster)
	}
	return nil
}

// sections reads the table of contents and the sections. It leaves out the parts that have flaws.
func (p *parser) sections() {
	p.textLeft = max(textMin, textFactor*len(p.b))
	for i := range int(native.Uint32(p.b[headerSections:])) {
		off := headerLen + i*entryLen
		b := p.b[off:]
		kind := sectionKind(native.Uint32(b[entryKind:]))
		if kind < sectionInDoms || kind > sectionLabels {
			p.leaveOut(kind, uint64(off), "unknown type of section")
			continue
		}
		p.sect[kind] = section{native.Uint32(b[entryCount:]), native.Uint64(b[entryOffset:])}
	}
	p.inDoms()
	p.metrics()
	p.values()
	p.labels()
}

// records returns the records of a section, or nil if it is empty or malformed.
func (p *parser) records(kind sectionKind, length int, limit uint32) []byte {
	s := p.sect[kind]
	if s.count > limit {
		p.leaveOut(kind, s.offset, "%d records, limit %d", s.count, limit)
		return nil
	}
	if !p.fits(s.offset, uint64(s.count), length) {
		p.leaveOut(kind, s.offset, "%d records of %d bytes do not fit into the %d bytes of the file", s.count, length, len(p.b))
		return nil
	}
	return p.b[s.offset:][:uint64(s.count)*uint64(length)]
}

// fits reports whether count records of some length at an offset are inside of the file. count is
// below 1<<32.
func (p *parser) fits(offset, count uint64, length int) bool {
	size := uint64(len(p.b))
	return offset <= size && count*uint64(length) <= size-offset
}

// cut is the text in b up to the first NUL.
func cut(b []byte) (text []byte, ended bool) {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i], true
	}
	return b, false
}

// copyText returns a name or a text as a string. Many strings share an allocation, because a
// chunk's contents never change.
func (p *parser) copyText(b []byte) (s string, ok bool) {
	if p.textLeft -= len(b); p.textLeft < 0 {
		return "", false
	}
	if len(b) > cap(p.chunk)-len(p.chunk) {
		p.chunk = make([]byte, 0, max(len(b), min(len(p.b)/textShare, textChunk)))
	}
	n := len(p.chunk)
	p.chunk = append(p.chunk, b...)
	return wire.Alias(p.chunk[n:]), true
}

// The chunks for texts have textChunk bytes, and less for a file that is not textShare times as
// long.
const (
	textChunk = 64 << 10
	textShare = 16
)

const textsTooLong = "names and texts are more than twice as long as the file"

// name reads the name in a record. problem says why it cannot be read, and is empty if it can.
func (p *parser) name(b []byte) (name, problem string) {
	var t []byte
	if p.f.Version == version1 {
		var ended bool
		if t, ended = cut(b[:shortNameLen]); !ended {
			return "", fmt.Sprintf("the name does not end within %d bytes", shortNameLen)
		}
	} else {
		offset := native.Uint64(b)
		if offset < headerLen || !p.fits(offset, 1, stringLen) {
			return "", fmt.Sprintf("the name's offset %d is outside of the file", offset)
		}
		t, _ = cut(p.b[offset:][:stringLen-1])
	}
	name, ok := p.copyText(t)
	if !ok {
		return "", textsTooLong
	}
	return name, ""
}

// texts reads the two texts whose offsets are at the beginning of b.
func (p *parser) texts(kind sectionKind, record uint64, b []byte) texts {
	return texts{
		short: p.text(kind, record, "one-line text", native.Uint64(b)),
		long:  p.text(kind, record, "help text", native.Uint64(b[metricLong-metricShort:])),
	}
}

func (p *parser) text(kind sectionKind, record uint64, what string, offset uint64) text {
	if offset == 0 {
		return text{}
	}
	if !p.fits(offset, 1, stringLen) {
		p.leaveOut(kind, record, "the offset %d of its %s is outside of the file", offset, what)
		return text{state: textOutside}
	}
	t, _ := cut(p.b[offset:][:stringLen-1])
	s, ok := p.copyText(t)
	if !ok {
		p.leaveOut(kind, record, textsTooLong)
		return text{state: textOutside}
	}
	return text{s, textThere}
}

// inDoms reads the instance domains with their instances.
func (p *parser) inDoms() {
	records := p.records(sectionInDoms, indomLen, maxInDoms)
	length := p.f.Version.instanceLen()
	// The instances of two domains are not the same records. So there are at most as many as fit
	// into the file.
	left := len(p.b) / length
	for i := 0; i < len(records); i += indomLen {
		b, off := records[i:i+indomLen], p.sect[sectionInDoms].offset+uint64(i)
		serial, n, first := native.Uint32(b[indomSerial:]), native.Uint32(b[indomCount:]), native.Uint64(b[indomInstances:])
		switch {
		case serial > maxSerial:
			p.leaveOut(sectionInDoms, off, "serial %d, limit %d", serial, maxSerial)
			continue
		case !p.fits(first, uint64(n), length):
			p.leaveOut(sectionInDoms, off, "%d instances at offset %d do not fit into the %d bytes of the file", n, first, len(p.b))
			continue
		case int(n) > left:
			p.leaveOut(sectionInDoms, off, "%d instances, which cannot be those of the other domains too", n)
			continue
		}
		left -= int(n)
		p.f.InDoms = append(p.f.InDoms, FileInDom{
			Serial:    serial,
			Instances: p.instances(first, int(n), length),
			texts:     p.texts(sectionInDoms, off, b[indomShort:]),
		})
	}
}

// instances reads n instances. Their records lie inside the file.
func (p *parser) instances(first uint64, n, length int) []pdu.Instance {
	list := make([]pdu.Instance, 0, n)
	for i := range n {
		off := first + uint64(i*length)
		b := p.b[off:][:length]
		name, problem := p.name(b[instanceName:])
		if problem != "" {
			p.leaveOut(sectionInstances, off, "%s", problem)
			continue
		}
		list = append(list, pdu.Instance{ID: pdu.InstID(int32(native.Uint32(b[instanceID:]))), Name: name})
	}
	return list
}

// metrics reads the metrics, without their values.
func (p *parser) metrics() {
	length := p.f.Version.metricLen()
	records := p.records(sectionMetrics, length, maxMetrics)
	var seen [maxItem + 1]bool
	p.f.Metrics = make([]FileMetric, 0, len(records)/length)
	p.metricOf = make([]int32, len(records)/length)
	for i := 0; i < len(records); i += length {
		b, off := records[i:i+length], p.sect[sectionMetrics].offset+uint64(i)
		p.metricOf[i/length] = leftOut
		rest := b[metricName+p.f.Version.nameLen():]
		item := native.Uint32(rest[metricItem:])
		if item > maxItem {
			p.leaveOut(sectionMetrics, off, "item %d, limit %d", item, maxItem)
			continue
		}
		if seen[item] {
			p.leaveOut(sectionMetrics, off, "another metric has item %d too", item)
			continue
		}
		seen[item] = true
		name, problem := p.name(b[metricName:])
		if problem != "" {
			p.leaveOut(sectionMetrics, off, "item %d: %s", item, problem)
			continue
		}
		m := FileMetric{Name: name, Item: int(item), texts: p.texts(sectionMetrics, off, rest[metricShort:])}
		m.describe(rest)
		p.metricOf[i/length] = int32(len(p.f.Metrics))
		p.f.Metrics = append(p.f.Metrics, m)
	}
}

// describe reads type, semantics, units and instance domain as an agent exports them.
func (m *FileMetric) describe(rest []byte) {
	m.Type = pdu.Type(native.Uint32(rest[metricType:]))
	m.Sem = pdu.Sem(native.Uint32(rest[metricSem:]))
	m.Units = pdu.Units(native.Uint32(rest[metricUnits:]))
	if m.InDom = native.Uint32(rest[metricInDom:]); int32(m.InDom) == noSerial {
		m.InDom = 0
	}
	if m.Elapsed = valueType(m.Type) == typeElapsed; m.Elapsed {
		m.Type, m.Sem, m.Units = pdu.Type64, pdu.SemCounter, pdu.TimeUSec
	} else if m.Sem == 0 {
		m.Sem = pdu.SemCounter
	}
}
