package sample

import (
	"context"
	"strconv"
	"syscall"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

const itemNeedProfile = 49

// registerInstances adds metrics of large domains and of domains that need a profile.
func (s *sample) registerInstances() {
	add(s, itemNeedProfile, pmda.Metric[float32]{Name: "needprofile", Sem: pdu.SemDiscrete, InDom: s.indoms.family,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (float32, error) {
			return [...]float32{3.05, 12.05, 11.09, 11.09, 5.26}[i.ID], nil
		}})
	add(s, 52, pmda.Metric[int32]{Name: "hordes.one", InDom: s.indoms.hordes,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (int32, error) { return int32(i.ID), nil }})
	add(s, 53, pmda.Metric[int32]{Name: "hordes.two", InDom: s.indoms.hordes,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (int32, error) {
			return hordes - 1 - int32(i.ID), nil
		}})
	add(s, 79, pmda.Metric[int32]{Name: "many.count", Units: pdu.UnitCount,
		Value: of(func() int32 { return int32(len(s.indoms.many.Instances())) })})
	storeWord(s, 79, func(n int32) error {
		s.errorCode = 0 // so does PCP's agent, which takes no instances for no memory
		if n <= 0 {
			s.errorCode = -int32(syscall.ENOMEM)
		}
		list := make([]pdu.Instance, min(max(n, 0), mostMany))
		for i := range list {
			list[i] = pdu.Instance{ID: pdu.InstID(i), Name: "i-" + strconv.Itoa(i)}
		}
		_, err := s.indoms.many.SetInstances(list...)
		return err
	})
	add(s, 80, pmda.Metric[int32]{Name: "many.int", Units: pdu.UnitCount, InDom: s.indoms.many,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (int32, error) { return int32(i.ID), nil }})
}

// hasProfile reports whether a client has selected instances of the family, as clients do for
// processes.
func (s *sample) hasProfile(r *pmda.Request) bool {
	p := r.Profile.For(s.indoms.family.ID())
	return p.Exclude && len(p.Insts) > 0
}
