package remotewrite_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// A strict reader of WriteRequest, after the definitions of snappy's block format, of protobuf and
// of remote write 1.0: no unknown fields, sorted and unique labels of legal names, none empty, a
// __name__ in each series, samples of a series in the order of time.

var errShort = errors.New("cut short")

// unsnappy decodes the block format.
func unsnappy(b []byte) ([]byte, error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > 32<<20 {
		return nil, errors.New("snappy: length")
	}
	out := make([]byte, 0, min(n, 1<<20))
	for b = b[k:]; len(b) > 0; {
		tag, extra, length, offset := b[0], 0, 0, 0
		switch tag & 3 {
		case 0:
			if length = int(tag>>2) + 1; length > 60 {
				extra = length - 60
			}
		case 1:
			extra, length = 1, int(tag>>2&7)+4
		case 2:
			extra, length = 2, int(tag>>2)+1
		case 3:
			extra, length = 4, int(tag>>2)+1
		}
		if len(b) < 1+extra {
			return nil, errShort
		}
		var word [8]byte
		copy(word[:], b[1:1+extra])
		number := int(binary.LittleEndian.Uint64(word[:]))
		b = b[1+extra:]
		if tag&3 == 0 {
			if extra > 0 {
				length = number + 1
			}
			if len(b) < length {
				return nil, errShort
			}
			out, b = append(out, b[:length]...), b[length:]
		} else {
			if offset = number; tag&3 == 1 {
				offset |= int(tag>>5) << 8
			}
			if offset <= 0 || offset > len(out) {
				return nil, fmt.Errorf("snappy: offset %d at %d", offset, len(out))
			}
			for range length {
				out = append(out, out[len(out)-offset])
			}
		}
		if uint64(len(out)) > n {
			return nil, errors.New("snappy: longer than it says")
		}
	}
	if uint64(len(out)) != n {
		return nil, errShort
	}
	return out, nil
}

// A field is one of a message of protobuf.
type field struct {
	number int
	kind   int // 0 varint, 1 64 bits, 2 bytes
	n      uint64
	b      []byte
}

func fields(b []byte) (all []field, err error) {
	for len(b) > 0 {
		tag, k := binary.Uvarint(b)
		if k <= 0 || tag>>3 == 0 || tag > 1<<32 {
			return nil, errors.New("protobuf: tag")
		}
		f := field{number: int(tag >> 3), kind: int(tag & 7)}
		b = b[k:]
		switch f.kind {
		case 0:
			if f.n, k = binary.Uvarint(b); k <= 0 {
				return nil, errShort
			}
			b = b[k:]
		case 1:
			if len(b) < 8 {
				return nil, errShort
			}
			f.n, b = binary.LittleEndian.Uint64(b), b[8:]
		case 2:
			n, k := binary.Uvarint(b)
			if k <= 0 || uint64(len(b)-k) < n {
				return nil, errShort
			}
			f.b, b = b[k:k+int(n)], b[k+int(n):]
		default:
			return nil, fmt.Errorf("protobuf: wire type %d", f.kind)
		}
		all = append(all, f)
	}
	return all, nil
}

// only are the fields of a message that has these and no others: by number, the wire type.
func only(b []byte, kinds map[int]int) ([]field, error) {
	all, err := fields(b)
	for _, f := range all {
		if kind, ok := kinds[f.number]; !ok || kind != f.kind {
			return nil, fmt.Errorf("field %d of wire type %d", f.number, f.kind)
		}
	}
	return all, err
}

// A value is a sample. end is the marker of a series that has ended.
type value struct {
	at  int64
	v   float64
	end bool
}

// A written series has its labels as text: {__name__="m",…}.
type written struct {
	labels string
	values []value
}

type message struct {
	series   []written
	metadata map[string]string // by family: kind|help|unit
}

func decode(b []byte) (*message, error) {
	all, err := only(b, map[int]int{1: 2, 3: 2})
	if err != nil {
		return nil, err
	}
	m := &message{metadata: map[string]string{}}
	for _, f := range all {
		if f.number == 3 {
			err = m.addMetadata(f.b)
		} else {
			err = m.addSeries(f.b)
		}
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *message) addMetadata(b []byte) error {
	all, err := only(b, map[int]int{1: 0, 2: 2, 4: 2, 5: 2})
	text := map[int]string{}
	for _, f := range all {
		text[f.number] = string(f.b)
		if f.kind == 0 {
			text[f.number] = fmt.Sprint(f.n)
		}
	}
	if text[2] == "" || !utf8.ValidString(text[4]) {
		return errors.New("metadata without a family, or help that is no UTF-8")
	}
	m.metadata[text[2]] = text[1] + "|" + text[4] + "|" + text[5]
	return err
}

func (m *message) addSeries(b []byte) error {
	all, err := only(b, map[int]int{1: 2, 2: 2})
	if err != nil {
		return err
	}
	var s written
	var names []string
	var text []string
	for _, f := range all {
		if f.number == 1 {
			name, value, err := label(f.b)
			if err != nil {
				return err
			}
			names, text = append(names, name), append(text, fmt.Sprintf("%s=%q", name, value))
			continue
		}
		v, err := sampleOf(f.b)
		if err != nil {
			return err
		}
		if n := len(s.values); n > 0 && s.values[n-1].at >= v.at {
			return fmt.Errorf("samples of %s out of order", text)
		}
		s.values = append(s.values, v)
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) || !slices.Contains(names, "__name__") || len(s.values) == 0 {
		return fmt.Errorf("labels %s, %d values", text, len(s.values))
	}
	s.labels = "{" + strings.Join(text, ",") + "}"
	m.series = append(m.series, s)
	return nil
}

func legal(name string, more string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(more, r))
	}) < 0 && (name[0] < '0' || name[0] > '9')
}

func label(b []byte) (name, value string, err error) {
	all, err := only(b, map[int]int{1: 2, 2: 2})
	if err != nil || len(all) != 2 {
		return "", "", fmt.Errorf("label of %d fields: %w", len(all), err)
	}
	name, value = string(all[0].b), string(all[1].b)
	if name == "__name__" && !legal(value, "_:") || !legal(name, "_") || strings.HasPrefix(name, "__") && name != "__name__" ||
		value == "" || !utf8.ValidString(value) {
		return "", "", fmt.Errorf("label %q=%q", name, value)
	}
	return name, value, nil
}

func sampleOf(b []byte) (v value, err error) {
	all, err := only(b, map[int]int{1: 1, 2: 0})
	for _, f := range all {
		if f.number == 1 {
			v.v = math.Float64frombits(f.n)
			v.end = f.n == 0x7ff0000000000002
			if math.IsNaN(v.v) && !v.end && f.n != 0x7ff8000000000001 {
				return v, fmt.Errorf("NaN %#x", f.n)
			}
		} else {
			v.at = int64(f.n)
		}
	}
	if v.end {
		v.v = 0 // so that two are equal
	}
	return v, err
}

// A store holds the samples that a receiver has accepted. It accepts a repeated sample if it is
// the same, and rejects a sample that is older than the last of its series.
type store struct {
	series   map[string][]value
	metadata map[string]string
	again    int // samples that were there already
}

func (s *store) take(body []byte) error {
	b, err := unsnappy(body)
	if err != nil {
		return err
	}
	m, err := decode(b)
	if err != nil {
		return err
	}
	if s.series == nil {
		s.series, s.metadata = map[string][]value{}, map[string]string{}
	}
	maps.Copy(s.metadata, m.metadata)
	for _, w := range m.series {
		for _, v := range w.values {
			if err := s.add(w.labels, v); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *store) add(labels string, v value) error {
	old := s.series[labels]
	i, found := slices.BinarySearchFunc(old, v, func(a, b value) int { return int(a.at - b.at) })
	switch {
	case found && old[i].end == v.end && math.Float64bits(old[i].v) == math.Float64bits(v.v):
		s.again++
	case found:
		return fmt.Errorf("%s has another value at %d", labels, v.at)
	case i < len(old):
		return fmt.Errorf("%s: %d after %d", labels, v.at, old[len(old)-1].at)
	default:
		s.series[labels] = append(old, v)
	}
	return nil
}

// text is the values of a series: "|" where it has ended.
func (s *store) text(labels string) string {
	var b strings.Builder
	for _, v := range s.series[labels] {
		if v.end {
			b.WriteString("|")
			continue
		}
		fmt.Fprintf(&b, "%v ", v.v)
	}
	return b.String()
}
