package simple

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// Store replaces the Store functions of the metrics, to follow the rules of PCP's agent. An invalid
// value is an error, but the nearest valid one is set. After an error no colour is set, but the
// count of fetches is.
func (h handler) Store(_ context.Context, _ *pmda.Request, values *pdu.Result) error {
	s := h.s
	s.mu.Lock()
	defer s.mu.Unlock()
	var failed error
	for _, set := range values.All() {
		id := set.PMID
		switch {
		case id.Cluster() == 0 && id.Item() == 0:
			if err := s.storeNumfetch(set); err != nil {
				failed = err
			}
		case id.Cluster() == 0 && id.Item() == 1:
			if failed == nil {
				failed = s.storeColors(set)
			}
		case id.Cluster() == 0:
			failed = pdu.ErrPMID
		case id.Cluster() == 1 && (id.Item() == 2 || id.Item() == 3), id.Cluster() == 2 && id.Item() == 4:
			return pdu.ErrPermission
		default:
			return pdu.ErrPMID
		}
	}
	return failed
}

func (s *simple) storeNumfetch(set pdu.ValueSet) error {
	v, err := pdu.As[int32](set.Atom(0, pdu.Type32))
	if err != nil {
		return err
	}
	s.numfetch = uint32(max(v, 0))
	if v < 0 {
		return pdu.ErrBadStore
	}
	return nil
}

// storeColors stops at the first invalid instance.
func (s *simple) storeColors(set pdu.ValueSet) error {
	for id, a := range set.All(pdu.Type32) {
		if id < 0 || int(id) >= len(s.colors) {
			return pdu.ErrInst
		}
		v, err := pdu.As[int32](a)
		if err != nil {
			return err
		}
		s.colors[id] = min(max(v, 0), 255)
		if v != s.colors[id] {
			return pdu.ErrBadStore
		}
	}
	return nil
}
