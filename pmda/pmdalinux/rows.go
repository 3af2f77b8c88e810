package pmdalinux

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// rows are what a file tells of devices, one row each. They are filled in the
// order of the file: begin, row for each device, end. As long as the devices are
// those of the reading before, that allocates nothing.
type rows[T any] struct {
	indom *pmda.InDom
	// id gives the instance ID of a name, false if it is no name of a device. If it
	// is nil, the IDs are those of InDom.SetNames.
	id func(name string) (pdu.InstID, bool)

	names   []string
	vals    []T
	ids     []pdu.InstID
	order   []int // the rows by ascending ID
	n       int   // rows of this reading so far
	changed bool

	attributes []interface{ again() } // of the devices
}

// begin starts a reading.
func (r *rows[T]) begin() { r.n = 0 }

// row is the next row, for the caller to fill in. If the device is the one that
// had this place in the reading before, it still has those values, else zeros.
func (r *rows[T]) row(name []byte) *T {
	at := r.n
	r.n++
	if at == len(r.names) {
		var zero T
		r.names, r.vals = append(r.names, string(name)), append(r.vals, zero)
		r.changed = true
	} else if r.names[at] != string(name) {
		var zero T
		r.names[at], r.vals[at] = string(name), zero
		r.changed = true
	}
	return &r.vals[at]
}

// last is the name of the last row.
func (r *rows[T]) last() string { return r.names[r.n-1] }

// drop takes the last row back.
func (r *rows[T]) drop() { r.n-- }

// end completes a reading: the instance domain has the devices of it.
func (r *rows[T]) end() error {
	err := r.settle()
	for _, a := range r.attributes {
		a.again()
	}
	return err
}

// differs is whether the devices of this reading are not those of the one before.
func (r *rows[T]) differs() bool { return r.changed || r.n < len(r.names) }

// settle takes the devices over.
func (r *rows[T]) settle() error {
	if r.n < len(r.names) {
		r.names, r.vals = r.names[:r.n], r.vals[:r.n]
		r.changed = true
	}
	if !r.changed && len(r.ids) == r.n {
		return nil
	}
	r.unique()
	if err := r.number(); err != nil {
		r.ids = r.ids[:0] // try again
		return err
	}
	r.order = r.order[:0]
	for at := range r.ids {
		r.order = append(r.order, at)
	}
	slices.SortFunc(r.order, func(a, b int) int { return int(r.ids[a]) - int(r.ids[b]) })
	r.changed = false
	return nil
}

// unique leaves out rows that cannot be told from one before, or are not named.
func (r *rows[T]) unique() {
	seen := make(map[string]bool, len(r.names))
	keep := 0
	for at, name := range r.names {
		if name == "" || seen[short(name)] {
			continue
		}
		if r.id != nil {
			if _, ok := r.id(name); !ok {
				continue
			}
		}
		seen[short(name)] = true
		r.names[keep], r.vals[keep] = name, r.vals[at]
		keep++
	}
	r.names, r.vals, r.n = r.names[:keep], r.vals[:keep], keep
}

// short is what an instance is known by: its name up to the first space.
func short(name string) string {
	name, _, _ = strings.Cut(name, " ")
	return name
}

// number tells the instance domain, and finds the IDs of the rows.
func (r *rows[T]) number() error {
	if r.id == nil {
		if _, err := r.indom.SetNames(r.names...); err != nil {
			return err
		}
		ids := make(map[string]pdu.InstID, r.n)
		for _, i := range r.indom.Instances() {
			ids[i.Name] = i.ID
		}
		r.ids = r.ids[:0]
		for _, name := range r.names {
			r.ids = append(r.ids, ids[name])
		}
		return nil
	}
	list := make([]pdu.Instance, r.n)
	r.ids = r.ids[:0]
	for at, name := range r.names {
		id, _ := r.id(name)
		r.ids = append(r.ids, id)
		list[at] = pdu.Instance{ID: id, Name: name}
	}
	slices.SortFunc(list, func(a, b pdu.Instance) int { return cmp.Compare(a.ID, b.ID) })
	_, err := r.indom.SetInstances(list...)
	return err
}

// column makes the Values of a metric out of one column of rows; of says what a
// row has there, false for nothing.
func column[R any, T pdu.Scalar](r *rows[R], of func(*R) (T, bool)) func(context.Context, *pmda.Request, *pmda.Values[T]) error {
	return func(_ context.Context, _ *pmda.Request, s *pmda.Values[T]) error {
		return putColumn(r, s, nil, of)
	}
}

// putColumn puts a column of rows. None is the error if no row that the client
// wants has it.
func putColumn[R any, T pdu.Scalar](r *rows[R], s *pmda.Values[T], none error, of func(*R) (T, bool)) error {
	for _, at := range r.order {
		if id := r.ids[at]; s.Wants(id) {
			if v, ok := of(&r.vals[at]); ok {
				s.Put(id, v)
				none = nil
			}
		}
	}
	return none
}

// byName is column for what does not come from the rows, but is found by the name of
// a device.
func byName[R any, T pdu.Scalar](r *rows[R], of func(name string) (T, bool)) func(context.Context, *pmda.Request, *pmda.Values[T]) error {
	return func(_ context.Context, _ *pmda.Request, s *pmda.Values[T]) error {
		for _, at := range r.order {
			if id := r.ids[at]; s.Wants(id) {
				if v, ok := of(r.names[at]); ok {
					s.Put(id, v)
				}
			}
		}
		return nil
	}
}
