package procfile

// MaxNumbers is how many numbers a NumberLine keeps.
const MaxNumbers = 8

// A NumberLine is the first fields of a file that is one line of numbers, as many
// below /proc/sys are.
type NumberLine struct {
	vals  [MaxNumbers]uint64
	known [MaxNumbers]bool
}

// Parse parses the file. A line without a newline has no numbers.
func (n *NumberLine) Parse(text []byte) error {
	line, _, ok := CutLine(text)
	if !ok {
		line = nil
	}
	for i := range n.vals {
		n.vals[i], line, n.known[i] = CutUint(line)
	}
	return nil
}

// Get returns the number in a column, counted from 0.
func (n *NumberLine) Get(column int) (v uint64, ok bool) { return n.vals[column], n.known[column] }

// ParseNumber parses a file that is a single number.
func ParseNumber(text []byte, v *uint64) (ok bool) {
	line, one := OnlyLine(text)
	*v, line, ok = CutUint(line)
	more, _ := CutField(line)
	return ok && one && len(more) == 0
}
