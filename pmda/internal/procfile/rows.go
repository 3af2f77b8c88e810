package procfile

// Rows are the rows of a file about named things, such as devices: one row for each, in the order
// of the file. A reading calls Begin, then Row for each, and End. It does not allocate while the
// names are the same as in the last reading.
type Rows[T any] struct {
	Names []string // of the rows; valid after End
	Vals  []T

	n       int // rows of this reading so far
	changed bool
}

// Begin starts a reading.
func (r *Rows[T]) Begin() { r.n = 0 }

// Row returns the next row, for the caller to fill in. If its name is the one that was
// at this place in the reading before, it still has those values, else zeros.
func (r *Rows[T]) Row(name []byte) *T {
	at := r.n
	r.n++
	if at == len(r.Names) {
		var zero T
		r.Names, r.Vals = append(r.Names, string(name)), append(r.Vals, zero)
		r.changed = true
	} else if r.Names[at] != string(name) {
		var zero T
		r.Names[at], r.Vals[at] = string(name), zero
		r.changed = true
	}
	return &r.Vals[at]
}

// Len returns the number of rows of this reading.
func (r *Rows[T]) Len() int { return r.n }

// LastName returns the name of the last row.
func (r *Rows[T]) LastName() string { return r.Names[r.n-1] }

// DropLast takes the last row back.
func (r *Rows[T]) DropLast() { r.n-- }

// Has reports whether the row at an index is one of this reading and has a name.
func (r *Rows[T]) Has(at int, name []byte) bool { return at < r.n && r.Names[at] == string(name) }

// NextHad reports whether the row that comes next had a name in the reading before.
func (r *Rows[T]) NextHad(name []byte) bool {
	return r.n < len(r.Names) && r.Names[r.n] == string(name)
}

// Changed reports whether the names differ from those of the reading before. It may be
// called before End.
func (r *Rows[T]) Changed() bool { return r.changed || r.n < len(r.Names) }

// End completes a reading. It reports whether the names differ from those of the
// reading before.
func (r *Rows[T]) End() (changed bool) {
	changed = r.Changed()
	r.Names, r.Vals = r.Names[:r.n], r.Vals[:r.n]
	r.changed = false
	return changed
}

// Keep removes the rows whose index keep rejects. Call it after End.
func (r *Rows[T]) Keep(keep func(at int) bool) {
	n := 0
	for at, name := range r.Names {
		if keep(at) {
			r.Names[n], r.Vals[n] = name, r.Vals[at]
			n++
		}
	}
	r.Names, r.Vals, r.n = r.Names[:n], r.Vals[:n], n
}
