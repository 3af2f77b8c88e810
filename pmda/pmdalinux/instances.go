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

// instances are the rows of a file that are the instances of a domain, such as disks.
// A reading calls Begin, Row for each, and End, which is the one of this type.
type instances[T any] struct {
	procfile.Rows[T]
	indom *pmda.InDom
	// idsOf returns the instance IDs of names, pdu.NoInst for one that is no name of an
	// instance. If it is nil, the IDs are those of InDom.SetNames.
	idsOf func(names []string) ([]pdu.InstID, error)

	ids   []pdu.InstID // of the rows
	order []int        // the rows by ascending ID
	stale bool         // ids and order are to be found anew

	files []interface{ startReading() } // of the devices that are the instances
}

// End completes a reading: the instance domain gets the names of its rows. It hides
// Rows.End, which would leave the domain as it was.
func (r *instances[T]) End() error {
	err := r.updateDomain()
	for _, f := range r.files {
		f.startReading()
	}
	return err
}

// updateDomain gives the names to the instance domain, if they are others than before.
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

// dropDuplicates removes rows whose names cannot be those of instances, or not of another
// one than that of a row before. A kernel lets root give a network interface a name with
// control characters: that is left out, and the other interfaces stay.
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

// shortName is a name up to the first space, which identifies an instance.
func shortName(name string) string {
	name, _, _ = strings.Cut(name, " ")
	return name
}

// findIDs makes the names those of the instance domain, and finds their IDs.
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

// rowValues makes the Values of a metric of the rows: value returns what a row has for
// it, false for nothing.
func rowValues[R any, T pdu.Scalar](r *instances[R], value func(*R) (T, bool)) func(context.Context, *pmda.Request, *pmda.Values[T]) error {
	return func(_ context.Context, _ *pmda.Request, s *pmda.Values[T]) error {
		return putRowValues(r, s, nil, value)
	}
}

// putRowValues is what such Values do. None is the error if no row that the client
// wants has a value.
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

// valuesByName is rowValues for what is not in the rows, but found by their names.
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
