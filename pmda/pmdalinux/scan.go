package pmdalinux

import (
	"bytes"
	"iter"
	"math"
	"strconv"
)

// cutLine returns the first line and what follows it.
func cutLine(text []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(text, newline)
	return line, rest
}

// cutField returns the first of the fields, which blanks and tabs separate, and
// what follows it. There is none if it is empty.
func cutField(line []byte) (field, rest []byte) {
	from := 0
	for from < len(line) && (line[from] == ' ' || line[from] == '\t') {
		from++
	}
	to := from
	for to < len(line) && line[to] != ' ' && line[to] != '\t' {
		to++
	}
	return line[from:to], line[to:]
}

// cutUint is cutField for a decimal number. What is no number or does not fit is
// not ok.
func cutUint(line []byte) (v uint64, rest []byte, ok bool) {
	field, rest := cutField(line)
	v, ok = parseUint(field)
	return v, rest, ok
}

// parseUint reads a decimal number.
func parseUint(field []byte) (v uint64, ok bool) {
	for _, c := range field {
		d := uint64(c - '0')
		if d > 9 || v > (1<<64-1-d)/10 {
			return 0, false
		}
		v = v*10 + d
	}
	return v, len(field) > 0
}

// parseFloat reads a number with a fraction.
func parseFloat(field []byte) (v float64, ok bool) {
	v, err := strconv.ParseFloat(string(field), 64)
	return v, err == nil
}

// parseUint32 is parseUint for what has to fit 32 bits.
func parseUint32(field []byte) (uint32, bool) {
	v, ok := parseUint(field)
	return uint32(v), ok && v <= math.MaxUint32
}

// wholeLine is cutLine for a line that ends as it should: of the last line of a
// text that was cut short nobody knows which numbers are whole.
func wholeLine(text []byte) (line, rest []byte, ok bool) {
	return bytes.Cut(text, newline)
}

var newline = []byte("\n")

// wholeLines yields the lines that end as they should.
func wholeLines(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for line, rest, ok := wholeLine(text); ok && yield(line); line, rest, ok = wholeLine(rest) {
		}
	}
}

// onlyLine is the line of a text that has one, which ends as it should.
func onlyLine(text []byte) (line []byte, ok bool) {
	line, rest, ok := wholeLine(text)
	return line, ok && len(rest) == 0
}

// isWhole is whether a text has lines, of which the last ends as it should.
func isWhole(text []byte) bool { return len(text) > 0 && text[len(text)-1] == '\n' }

// notCut is whether all lines of a text end as they should, if there are any.
func notCut(text []byte) bool { return len(text) == 0 || isWhole(text) }
