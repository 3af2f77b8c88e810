package pmda

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// instances is a list of instances that the program has numbered. It never changes.
type instances struct {
	all    []pdu.Instance
	byID   map[pdu.InstID]int // index in all; nil if the IDs are the indexes
	byName map[string]int     // by the part of the name up to the first space
}

var noInstances = new(instances)

// SetInstances replaces the instances and returns their IDs. It copies the slice. It also forgets
// the names that SetNames remembers.
//
// IDs must be unique and not negative. Names must be unique up to the first space and acceptable to
// ValidInstanceName. On an error, also that of an InDom with a Cache, the instances stay as they
// were.
func (d *InDom) SetInstances(instances ...pdu.Instance) ([]pdu.InstID, error) {
	s, err := newInstances(slices.Clone(instances))
	if d.Cache != nil {
		err = errHasCache
	}
	if err != nil {
		return nil, d.opError(err)
	}
	ids := make([]pdu.InstID, len(instances))
	for i := range instances {
		ids[i] = instances[i].ID
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	t := instanceTable(s)
	d.table.Store(&t)
	d.cache, d.names, d.loaded = nil, nil, false
	return ids, nil
}

// newInstances checks and indexes a list. It keeps the list.
func newInstances(list []pdu.Instance) (*instances, error) {
	s := &instances{all: list, byName: make(map[string]int, len(list))}
	for at, i := range list {
		if i.ID < 0 {
			return nil, fmt.Errorf("instance %d %q: needs an ID of 0 or more", i.ID, i.Name)
		}
		if err := checkInstanceName(i.Name); err != nil {
			return nil, fmt.Errorf("instance %d %q: %w", i.ID, i.Name, err)
		}
		short, _, _ := strings.Cut(i.Name, " ")
		if other, ok := s.byName[short]; ok {
			return nil, sameShortName(list[other].Name, i.Name)
		}
		s.byName[short] = at
		if s.byID == nil && int(i.ID) != at {
			s.byID = make(map[pdu.InstID]int, len(list))
			for before := range at {
				s.byID[list[before].ID] = before
			}
		}
		if s.byID != nil {
			if other, ok := s.byID[i.ID]; ok {
				return nil, fmt.Errorf("instances %q and %q have the same ID %d", list[other].Name, i.Name, i.ID)
			}
			s.byID[i.ID] = at
		}
	}
	return s, nil
}

func (s *instances) list() []pdu.Instance { return s.all }

// id finds an instance by its ID.
func (s *instances) id(id pdu.InstID) (pdu.Instance, bool) {
	at, ok := int(id), id >= 0 && int(id) < len(s.all)
	if s.byID != nil {
		at, ok = s.byID[id]
	}
	if !ok {
		return pdu.Instance{}, false
	}
	return s.all[at], true
}

// name finds an instance by its name, or by the part up to the first space.
func (s *instances) name(name string) (pdu.Instance, bool) {
	short, _, _ := strings.Cut(name, " ")
	at, ok := s.byName[short]
	if !ok || name != short && name != s.all[at].Name {
		return pdu.Instance{}, false
	}
	return s.all[at], true
}
