package mmv

import (
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/pcp-go/pcp/pdu"
)

// An image is an MMV file in memory: a mapped file, or memory of the heap. It has room for more
// records than it holds, so that most additions are made in place. place appends the additions of a
// registry: everything to a new image, and the missing parts to the current one.
type image struct {
	// mu is locked for changes of anything except values. Readers in this process read-lock it.
	mu       sync.RWMutex
	words    []uint64
	bytes    []byte // the same memory
	version  Version
	sections [sectionLabels + 1]region
	blocks   []block // of each domain, where its instances are
	filler   int     // offset of the empty string that spare instances have as their names, 0: none
}

// A region is a section of an image.
type region struct {
	offset int
	size   int // of a record
	used   int // number of records
	room   int // number of records that fit
	entry  int // offset of its entry in the table of contents, 0: none
}

// A block is the place of a domain's instances.
type block struct{ first, used, room int }

func (s *region) at(i int) int { return s.offset + i*s.size }

// A room is how many records of each kind an image has room for.
type room struct {
	sections  [sectionLabels + 1]int
	instances []int // by domain
}

func (n *room) any() bool { return n.sections != [sectionLabels + 1]int{} }

// need returns the room for the parts of the registry that im lacks. If im is nil these are all
// parts.
func (r *Registry) need(im *image, v Version) room {
	var have [sectionLabels + 1]int
	if im != nil {
		for k := range have {
			have[k] = im.sections[k].used
		}
	}
	n := room{instances: make([]int, len(r.domains))}
	for i, d := range r.domains {
		from := 0
		if im != nil && i < len(im.blocks) {
			from = im.blocks[i].used
		} else {
			n.sections[sectionInDoms]++
			n.sections[sectionStrings] += countTexts(d.domain.Text, d.domain.Help)
		}
		n.instances[i] = len(d.instances) - from
		n.sections[sectionInstances] += n.instances[i]
	}
	metrics := r.metrics[have[sectionMetrics]:]
	n.sections[sectionMetrics] = len(metrics)
	for _, m := range metrics {
		n.sections[sectionStrings] += countTexts(m.Text, m.Help)
	}
	if v > version1 {
		n.sections[sectionStrings] += len(metrics) + n.sections[sectionInstances]
	}
	cells := r.cells[have[sectionValues]:]
	n.sections[sectionValues] = len(cells)
	for _, c := range cells {
		if c.typ == typeString {
			n.sections[sectionStrings] += 2
		}
	}
	n.sections[sectionLabels] = len(r.labels) - have[sectionLabels]
	return n
}

func countTexts(texts ...string) (n int) {
	for _, s := range texts {
		if s != "" {
			n++
		}
	}
	return n
}

// spare adds room for later records: half as many again of each kind in use, and a few more.
func (n *room) spare() {
	for k := range n.sections {
		if n.sections[k] > 0 {
			n.sections[k] = withSpare(n.sections[k])
		}
	}
	if n.sections[sectionInstances] > 0 {
		n.sections[sectionInstances] = 0
		for i := range n.instances {
			n.instances[i] = withSpare(n.instances[i])
			n.sections[sectionInstances] += n.instances[i]
		}
		n.sections[sectionInstances] = withSpare(n.sections[sectionInstances]) // for domains to come
		n.sections[sectionStrings]++                                           // the name of spare instances
	}
	n.sections[sectionMetrics] = min(n.sections[sectionMetrics], maxMetrics)
	n.sections[sectionLabels] = min(n.sections[sectionLabels], maxLabels)
}

func withSpare(n int) int { return n + n/2 + 8 }

// fits reports whether the image has room for n more records.
func (im *image) fits(n room) bool {
	for k := range im.sections {
		if s := &im.sections[k]; sectionKind(k) != sectionInstances && s.used+n.sections[k] > s.room {
			return false
		}
	}
	unused := im.sections[sectionInstances].room - im.sections[sectionInstances].used
	for i, more := range n.instances {
		if more == 0 {
			continue
		}
		if i >= len(im.blocks) || im.blocks[i].room == 0 { // it needs a block
			if unused -= withSpare(more); unused < 0 {
				return false
			}
		} else if im.blocks[i].used+more > im.blocks[i].room {
			return false
		}
	}
	return true
}

// newImage returns an image without records, with room for n, in memory of alloc, which is zero.
func newImage(v Version, n room, alloc func(size int) ([]uint64, error)) (*image, error) {
	im := &image{version: v}
	sizes := [...]int{sectionInDoms: indomLen, sectionInstances: v.instanceLen(), sectionMetrics: v.metricLen(),
		sectionValues: valueLen, sectionStrings: stringLen, sectionLabels: labelLen}
	entries := 0
	for k := sectionInDoms; k <= sectionLabels; k++ {
		s := &im.sections[k]
		s.size, s.room = sizes[k], n.sections[k]
		if s.room > 0 || k == sectionMetrics || k == sectionValues {
			s.entry = headerLen + entries*entryLen
			entries++
		}
	}
	size := headerLen + entries*entryLen
	for k := sectionInDoms; k <= sectionLabels; k++ {
		s := &im.sections[k]
		s.offset = size
		size += s.room * s.size
	}
	if size > maxFile {
		return nil, fmt.Errorf("mmv: the metrics take %d bytes, limit %d", size, maxFile)
	}
	words, err := alloc(size)
	if err != nil {
		return nil, err
	}
	im.words = words
	im.bytes = unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), size)
	copy(im.bytes, magic)
	im.put32(headerVersion, uint32(v))
	im.put32(headerSections, uint32(entries))
	for k := sectionInDoms; k <= sectionLabels; k++ {
		if s := &im.sections[k]; s.entry != 0 {
			im.put32(s.entry+entryKind, uint32(k))
			im.put64(s.entry+entryOffset, uint64(s.offset))
		}
	}
	return im, nil
}

func (im *image) put32(off int, n uint32) { native.PutUint32(im.bytes[off:], n) }
func (im *image) put64(off int, n uint64) { native.PutUint64(im.bytes[off:], n) }

// publish32 stores a number that makes records visible to readers of a file.
func (im *image) publish32(off int, n uint32) {
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&im.bytes[off])), n)
}

// A placement is a slot in an image for a value.
type placement struct {
	cell *cell
	to   *slot
}

// place appends the parts of the registry that the image lacks. The image has room for them.
// Readers do not see them before show. The caller moves the values.
func (im *image) place(r *Registry, exact bool) []placement {
	domains := len(im.blocks)
	for _, d := range r.domains[domains:] {
		im.placeDomain(d)
	}
	for i, d := range r.domains {
		im.placeInstances(d, &im.blocks[i], exact)
	}
	for _, m := range r.metrics[im.sections[sectionMetrics].used:] {
		im.placeMetric(m)
	}
	cells := r.cells[im.sections[sectionValues].used:]
	slots := make([]slot, len(cells))
	placements := make([]placement, len(cells))
	for i, c := range cells {
		im.placeValue(c, &slots[i])
		placements[i] = placement{c, &slots[i]}
	}
	for _, l := range r.labels[im.sections[sectionLabels].used:] {
		im.placeLabel(l)
	}
	return placements
}

// next is the offset of a new record of a section.
func (im *image) next(k sectionKind) int {
	s := &im.sections[k]
	s.used++
	return s.at(s.used - 1)
}

// string places a string, cut to what a slot can hold, and returns its offset.
func (im *image) string(text string) uint64 {
	off := im.next(sectionStrings)
	copy(im.bytes[off:off+stringLen-1], cutText(text, stringLen-1))
	return uint64(off)
}

// text places a text, if there is one.
func (im *image) text(text string) uint64 {
	if text == "" {
		return 0
	}
	return im.string(text)
}

// name places the name of a metric or an instance in its record.
func (im *image) name(off int, name string) {
	if im.version == version1 {
		copy(im.bytes[off:off+shortNameLen-1], name)
		return
	}
	im.put64(off, im.string(name))
}

func (im *image) placeDomain(d *InDom) {
	off := im.next(sectionInDoms)
	im.put32(off+indomSerial, uint32(d.serial))
	im.put64(off+indomShort, im.text(d.domain.Text))
	im.put64(off+indomLong, im.text(d.domain.Help))
	im.put64(off+indomInstances, uint64(im.sections[sectionInstances].offset))
	im.blocks = append(im.blocks, block{})
}

// placeInstances appends instances to a domain. If the domain has no block yet, it gets one. Unless
// exact is set, the block has spare room.
func (im *image) placeInstances(d *InDom, b *block, exact bool) {
	more := d.instances[b.used:]
	if len(more) == 0 {
		return
	}
	s, dom := &im.sections[sectionInstances], im.sections[sectionInDoms].at(d.index)
	if b.room == 0 {
		b.first, b.room = s.used, len(more)
		if !exact {
			b.room = withSpare(len(more))
		}
		s.used += b.room
		for i := len(more); i < b.room; i++ {
			im.placeInstance(s.at(b.first+i), dom, pdu.NoInst, "")
		}
		im.put64(dom+indomInstances, uint64(s.at(b.first)))
	}
	for _, in := range more {
		im.placeInstance(s.at(b.first+in.index), dom, in.id, in.name)
	}
	b.used += len(more)
}

// placeInstance writes the record of an instance, a spare one if it has no name.
func (im *image) placeInstance(off, dom int, id pdu.InstID, name string) {
	im.put64(off+instanceInDom, uint64(dom))
	im.put32(off+instanceID, uint32(id))
	switch {
	case name != "":
		im.name(off+instanceName, name)
	case im.version > version1:
		if im.filler == 0 {
			im.filler = im.next(sectionStrings)
		}
		im.put64(off+instanceName, uint64(im.filler))
	}
}

func (im *image) placeMetric(m *metric) {
	off := im.next(sectionMetrics)
	im.name(off+metricName, m.name)
	serial := noSerial
	if m.dom != nil {
		serial = int32(m.dom.serial)
	}
	rest := off + im.version.nameLen()
	im.put32(rest+metricItem, uint32(m.Item))
	im.put32(rest+metricType, uint32(m.typ))
	im.put32(rest+metricSem, uint32(m.Sem))
	im.put32(rest+metricUnits, uint32(m.Units))
	im.put32(rest+metricInDom, uint32(serial))
	im.put64(rest+metricShort, im.text(m.Text))
	im.put64(rest+metricLong, im.text(m.Help))
}

func (im *image) placeValue(c *cell, to *slot) {
	off := im.next(sectionValues)
	to.image = im
	to.record = (*[valueLen / 8]uint64)(im.words[off/8:])
	im.put64(off+valueMetric, uint64(im.sections[sectionMetrics].at(c.metric.index)))
	if in := c.inst; in != nil {
		im.put64(off+valueInstance, uint64(im.sections[sectionInstances].at(im.blocks[in.dom.index].first+in.index)))
	}
	if c.typ == typeString {
		to.offset = im.next(sectionStrings)
		im.next(sectionStrings)
		to.text = (*[2 * stringLen / 8]uint64)(im.words[to.offset/8:])
		im.put64(off+valueExtra, uint64(to.offset))
	}
}

func (im *image) placeLabel(l label) {
	off := im.next(sectionLabels)
	im.put32(off+labelFlags, l.flags)
	im.put32(off+labelIdentity, l.identity)
	im.put32(off+labelInstance, uint32(l.id))
	copy(im.bytes[off+labelJSON:off+labelLen-1], l.json)
}

// show makes the placed records visible: metrics last, so that a reader that finds a metric finds
// its values, its domain and its texts, too.
func (im *image) show() {
	for _, k := range [...]sectionKind{sectionStrings, sectionInstances, sectionValues, sectionLabels,
		sectionInDoms, sectionMetrics} {
		if s := &im.sections[k]; s.entry != 0 {
			im.publish32(s.entry+entryCount, uint32(s.used))
		}
		if k != sectionInstances {
			continue
		}
		for i, b := range im.blocks {
			im.publish32(im.sections[sectionInDoms].at(i)+indomCount, uint32(b.used))
		}
	}
}

// setGeneration makes a new image valid, or tells readers of an old one that it has changed.
func (im *image) setGeneration(g uint64) {
	atomic.StoreUint64(&im.words[headerGeneration1/8], g)
	atomic.StoreUint64(&im.words[headerGeneration2/8], g)
	runtime.KeepAlive(im)
}

// ReadAt reads the memory for readers in this process. It loads each word atomically, so that no
// number is half old and half new.
func (im *image) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("mmv: offset %d is negative", off)
	}
	im.mu.RLock()
	defer im.mu.RUnlock()
	n := 0
	for n < len(p) {
		at := off + int64(n)
		if at/8 >= int64(len(im.words)) {
			return n, io.EOF
		}
		word := atomic.LoadUint64(&im.words[at/8])
		if at%8 == 0 && len(p)-n >= 8 {
			native.PutUint64(p[n:], word)
			n += 8
			continue
		}
		var b [8]byte
		native.PutUint64(b[:], word)
		n += copy(p[n:], b[at%8:])
	}
	return n, nil
}

// Size is how many bytes there are.
func (im *image) Size() int64 { return int64(len(im.bytes)) }
