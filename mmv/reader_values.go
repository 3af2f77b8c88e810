package mmv

import (
	"bytes"
	"errors"
	"io"
	"math"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Reader reads values in any order. It reads each page of the file at most once after Reset, so
// many values need few system calls. It reuses its memory: in the steady state it allocates
// nothing. The zero Reader is ready for Reset. One goroutine at a time may use a Reader.
type Reader struct {
	f      *File
	now    int64    // microseconds since 1970
	pages  []*page  // those in use, and after them those of earlier reads
	used   int      // how many are in use
	table  []uint32 // of each page of the file: its index in pages plus 1, or 0
	err    error    // the file cannot be read any more
	header generations
}

const (
	pageLen = 16 << 10
	// A page also has the first pageMore bytes of the next one, so that it has all of a record or a
	// string that begins in it.
	pageMore = stringLen
)

// A page is a part of the file.
type page struct {
	index int // in the file
	b     [pageLen + pageMore]byte
}

// Reset forgets all that has been read, for new values or another file. Intervals in progress count
// up to now, which usually is time.Now().
func (r *Reader) Reset(f *File, now time.Time) {
	for _, p := range r.pages[:r.used] {
		r.table[p.index] = 0
	}
	r.f, r.now, r.used, r.err = f, now.UnixMicro(), 0, nil
	if n := int(f.size/pageLen) + 1; n > len(r.table) {
		r.table = make([]uint32, n)
	}
}

// Value returns the value of instance m.Instances[i], in the form that a collector exports: an
// elapsed time has the type pdu.Type64 and includes the interval in progress up to the time given
// to Reset. m belongs to the File given to Reset. The bytes of a string are valid until the next
// Reset.
//
// Errors: ErrNoValue; pdu.ErrAppVersion for pdu.TypeNoSupport; pdu.ErrType for an unknown type;
// ErrFormat and pdu.ErrGeneric for a string outside the file. After ErrChanged or an error of the
// source's ReadAt, all calls fail until the next Reset.
func (r *Reader) Value(m *FileMetric, i int) (pdu.Atom, error) { return r.valueAt(m.Place(i)) }

// A Place is the position of a value in its file, and its type.
type Place struct {
	record int32 // index in the section of values
	typ    valueType
}

// Place returns the place of instance m.Instances[i], for NumberAt.
func (m *FileMetric) Place(i int) Place { return Place{m.records[i], m.inFile()} }

// inFile returns the type of the values in the file.
func (m *FileMetric) inFile() valueType {
	if m.Elapsed && m.Type == pdu.Type64 {
		return typeElapsed
	}
	return valueType(m.Type)
}

// NumberAt returns a number in the form that pdu.ResultWriter.Number takes. It is faster than
// Value. ok is false for strings, elapsed times, missing values and errors. Use Value for these.
func (r *Reader) NumberAt(p Place) (t pdu.Type, bits uint64, ok bool) {
	if p.typ < 0 || p.typ > typeDouble {
		return 0, 0, false
	}
	b, err := r.at(r.f.values+int64(p.record)*valueLen, valueLen)
	if err != nil || r.f.flags&flagSentinel != 0 && p.typ.isSentinel(b) {
		return 0, 0, false
	}
	switch p.typ {
	case type32, typeU32, typeFloat:
		return pdu.Type(p.typ), uint64(native.Uint32(b[valueWord:])), true
	}
	return pdu.Type(p.typ), native.Uint64(b[valueWord:]), true
}

func (r *Reader) valueAt(p Place) (pdu.Atom, error) {
	if !p.typ.isKnown() {
		return pdu.Atom{}, pdu.ErrType
	}
	if p.typ == typeNoSupport {
		return pdu.Atom{}, pdu.ErrAppVersion
	}
	off := r.f.values + int64(p.record)*valueLen
	b, err := r.at(off, valueLen)
	if err != nil {
		return pdu.Atom{}, err
	}
	if r.f.flags&flagSentinel != 0 && p.typ.isSentinel(b) {
		return pdu.Atom{}, ErrNoValue
	}
	word := b[valueWord : valueWord+8]
	switch p.typ {
	case typeU64:
		return pdu.Uint64(native.Uint64(word)), nil
	case type32:
		return pdu.Int32(int32(native.Uint32(word))), nil
	case typeU32:
		return pdu.Uint32(native.Uint32(word)), nil
	case type64:
		return pdu.Int64(int64(native.Uint64(word))), nil
	case typeFloat:
		return pdu.Float32(math.Float32frombits(native.Uint32(word))), nil
	case typeDouble:
		return pdu.Float64(math.Float64frombits(native.Uint64(word))), nil
	case typeElapsed:
		elapsed := int64(native.Uint64(word))
		if start := int64(native.Uint64(b[valueExtra:])); start < 0 {
			elapsed += r.now + start
		}
		return pdu.Int64(elapsed), nil
	}
	return r.text(off, int64(native.Uint64(b[valueExtra:])))
}

// isSentinel reports whether the record of a number stands for a missing value.
func (t valueType) isSentinel(b []byte) bool {
	switch t {
	case typeFloat:
		f := math.Float32frombits(native.Uint32(b[valueWord:]))
		return f != f
	case typeDouble:
		f := math.Float64frombits(native.Uint64(b[valueWord:]))
		return f != f
	case typeString:
		return false
	}
	return native.Uint64(b[valueWord:]) == math.MaxUint64
}

// text reads the string at an offset, for the value at another one. A string that fills its slot is
// cut by one byte, as the C agent does it.
func (r *Reader) text(value, slot int64) (pdu.Atom, error) {
	if slot < headerLen || slot >= r.f.size {
		return pdu.Atom{}, r.textError(value, "the string's offset is outside of the file")
	}
	n := min(stringLen, r.f.size-slot)
	b, err := r.at(slot, int(n))
	if err != nil {
		return pdu.Atom{}, err
	}
	end := bytes.IndexByte(b, 0)
	if end < 0 {
		if n < stringLen {
			return pdu.Atom{}, r.textError(value, "the string does not end before the file does")
		}
		end = stringLen - 1
	}
	if end == 0 && r.f.flags&flagSentinel != 0 {
		return pdu.Atom{}, ErrNoValue
	}
	a := pdu.Aggregate(b[:end:end])
	a.Type = pdu.TypeString
	return a, nil
}

func (r *Reader) textError(value int64, problem string) error {
	return &formatError{file: r.f.Path, section: "values", offset: value + valueExtra, problem: problem, err: pdu.ErrGeneric}
}

// at returns n bytes at an offset. They lie within the size that the file had when it was opened.
// n is at most pageMore.
func (r *Reader) at(off int64, n int) ([]byte, error) {
	if r.err != nil {
		return nil, r.err
	}
	index := int(uint64(off) / pageLen)
	slot := r.table[index]
	if slot == 0 {
		if r.err = r.load(index); r.err != nil {
			return nil, r.err
		}
		slot = r.table[index]
	}
	p := r.pages[slot-1]
	i := int(uint64(off) % pageLen)
	return p.b[i : i+n], nil
}

// load reads a page, and then checks that the generation is still that of the File. If so, all of
// the page belongs to it: a writer changes the generation before it changes records, except for
// values.
func (r *Reader) load(index int) error {
	if r.used == len(r.pages) {
		r.pages = append(r.pages, new(page))
	}
	p := r.pages[r.used]
	off := int64(index) * pageLen
	want := min(int64(len(p.b)), r.f.size-off)
	n, err := r.f.src.ReadAt(p.b[:want], off)
	if int64(n) < want {
		if err == nil || errors.Is(err, io.EOF) {
			return ErrChanged
		}
		return err
	}
	if changed, err := r.f.changed(&r.header); err != nil {
		return err
	} else if changed {
		return ErrChanged
	}
	p.index = index
	r.used++
	r.table[index] = uint32(r.used)
	return nil
}
