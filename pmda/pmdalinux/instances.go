package pmdalinux

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// instances are the rows of a file that are instances of a domain, such as disks. A reading calls
// Begin, Row for each instance, and the End of this type.
type instances[T any] struct {
	procfile.Rows[T]
	indom *pmda.InDom
	// idsOf returns the instance IDs of names, pdu.NoInst for an invalid name. If idsOf is nil, the
	// IDs are those of InDom.SetNames.
	idsOf func(names []string) ([]pdu.InstID, error)

	ids   []pdu.InstID // of the rows
	order []int        // the rows by ascending ID
	stale bool         // ids and order must be recomputed

	files []interface{ startReading() } // of the devices that are the instances
}

// End completes a reading and gives the names of the rows to the instance domain. It hides
// Rows.End, which would not update the domain.
func (r *instances[T]) End() error {
	err := r.updateDomain()
	for _, f := range r.files {
		f.startReading()
	}
	return err
}

// updateDomain gives the names to the instance domain if they have changed.
func (r *instances[T]) updateDomain() error {
	r.stale = r.Rows.End() || r.stale || len(r.ids) != r.Len()
	if !r.stale {
		return nil
	}
	r.dropDuplicates()
	if err := r.findIDs(); err != nil {
		r.ids, r.order = r.ids[:0], r.order[:0]
		return err // and try again after the next reading
	}
	r.order = r.order[:0]
	for at := range r.ids {
		r.order = append(r.order, at)
	}
	slices.SortFunc(r.order, func(a, b int) int { return cmp.Compare(r.ids[a], r.ids[b]) })
	r.stale = false
	return nil
}

// dropDuplicates removes rows with an invalid instance name or with the name of an earlier row. A
// kernel lets root give a network interface a name with control characters. Only that interface is
// removed.
func (r *instances[T]) dropDuplicates() {
	seen := make(map[string]bool, len(r.Names))
	r.Keep(func(at int) bool {
		name := r.Names[at]
		if !pmda.ValidInstanceName(name) || seen[shortName(name)] {
			return false
		}
		seen[shortName(name)] = true
		return true
	})
}

// shortName returns the part of a name before the first space, which identifies an instance.
func shortName(name string) string {
	name, _, _ = strings.Cut(name, " ")
	return name
}

// findIDs gives the names to the instance domain and finds their IDs.
func (r *instances[T]) findIDs() error {
	if r.idsOf == nil {
		ids, err := r.indom.SetNames(r.Names...)
		r.ids = ids
		return err
	}
	ids, err := r.idsOf(r.Names)
	if err != nil {
		return err
	}
	r.Keep(func(at int) bool { return ids[at] != pdu.NoInst })
	r.ids = slices.DeleteFunc(ids, func(id pdu.InstID) bool { return id == pdu.NoInst })
	list := make([]pdu.Instance, r.Len())
	for at, name := range r.Names {
		list[at] = pdu.Instance{ID: r.ids[at], Name: name}
	}
	slices.SortFunc(list, func(a, b pdu.Instance) int { return cmp.Compare(a.ID, b.ID) })
	_, err = r.indom.SetInstances(list...)
	return err
}

// rowValues makes the Values of a metric of the rows. value returns the value of a row, or false if
// the row has no value.
func rowValues[R any, T pdu.Scalar](r *instances[R], value func(*R) (T, bool)) func(context.Context, *pmda.Request, *pmda.Values[T]) error {
	return func(_ context.Context, _ *pmda.Request, s *pmda.Values[T]) error {
		return putRowValues(r, s, nil, value)
	}
}

// putRowValues implements such Values. It returns the error none if no selected row has a value.
func putRowValues[R any, T pdu.Scalar](r *instances[R], s *pmda.Values[T], none error, value func(*R) (T, bool)) error {
	for _, at := range r.order {
		if id := r.ids[at]; s.Wants(id) {
			if v, ok := value(&r.Vals[at]); ok {
				s.Put(id, v)
				none = nil
			}
		}
	}
	return none
}

// valuesByName is rowValues for values that are found by the name of a row.
func valuesByName[R any, T pdu.Scalar](r *instances[R], value func(name string) (T, bool)) func(context.Context, *pmda.Request, *pmda.Values[T]) error {
	return func(_ context.Context, _ *pmda.Request, s *pmda.Values[T]) error {
		for _, at := range r.order {
			if id := r.ids[at]; s.Wants(id) {
				if v, ok := value(r.Names[at]); ok {
					s.Put(id, v)
				}
			}
		}
		return nil
	}
}
