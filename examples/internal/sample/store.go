package sample

import "github.com/pcp-go/pcp/pdu"

// store stores the values of metrics in their order, until one fails.
func (s *sample) store(values *pdu.Result) error {
	for _, set := range values.All() {
		if err := s.storeSet(set); err != nil {
			return err
		}
	}
	return nil
}

// storeSet stores the values of one metric. It checks the values only if the metric can be stored.
func (s *sample) storeSet(set pdu.ValueSet) error {
	item := set.PMID.Item()
	known := item <= lastItem || item >= firstDynamic && item <= lastDynamic || item == itemBigID
	if !known || set.PMID != s.id(item) {
		return pdu.ErrPMID
	}
	store := s.stores[item]
	if store == nil {
		return pdu.ErrPermission
	}
	if set.Len() < 1 {
		return pdu.ErrBadStore
	}
	return store(set)
}

const (
	lastItem     = 168  // of those that follow each other
	firstDynamic = 1000 // of those below dynamic roots
	lastDynamic  = 1011
)

// storeWord lets clients store one value in place into a metric of 32-bit integers.
func storeWord[T int32 | uint32](s *sample, item int, set func(v T) error) {
	s.stores[item] = func(values pdu.ValueSet) error {
		t := pdu.ScalarType[T]()
		if values.Len() != 1 || inBlock(values) {
			return pdu.ErrBadStore
		}
		v, err := pdu.As[T](values.Atom(0, t))
		if err != nil {
			return err
		}
		return set(v)
	}
}

// storeBlock lets clients store one value in a block into a metric whose values are in blocks.
func storeBlock[T pdu.Scalar](s *sample, item int, set func(v T)) {
	s.stores[item] = func(values pdu.ValueSet) error {
		if values.Len() != 1 || !inBlock(values) {
			return pdu.ErrBadStore
		}
		return storeOne(values, set)
	}
}

// storeFloat lets clients store one value into a metric of type float. The value may be in place.
func storeFloat(s *sample, item int, set func(v float32)) {
	s.stores[item] = func(values pdu.ValueSet) error {
		if values.Len() != 1 {
			return pdu.ErrBadStore
		}
		return storeOne(values, set)
	}
}

// storeOne stores a value, which must have the metric's type.
func storeOne[T pdu.Scalar](values pdu.ValueSet, set func(v T)) error {
	t := pdu.ScalarType[T]()
	a := values.Atom(0, t)
	if a.Type != t || !inBlock(values) && t != pdu.TypeFloat {
		return pdu.ErrConv
	}
	v, err := pdu.As[T](a)
	if err == nil {
		set(v)
	}
	return err
}

// inBlock reports whether the values of a set are in blocks.
func inBlock(values pdu.ValueSet) bool {
	// A value in place takes the type that Atom is given. A value in a block has a type.
	return values.Atom(0, pdu.Type32).Type != pdu.Type32 || values.Atom(0, pdu.TypeU32).Type != pdu.TypeU32
}

// storesInto returns a function that stores into a variable.
func storesInto[T int32 | uint32](v *T) func(T) error {
	return func(to T) error {
		*v = to
		return nil
	}
}
