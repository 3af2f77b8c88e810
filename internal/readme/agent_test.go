package readme

import (
	"context"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

func agent() {
	a := &pmda.Agent{Name: "cache", Domain: 400}
	pmda.Register(a, pmda.Metric[uint64]{
		Name: "cache.hits", ID: pmda.Item(0, 0), Text: "Lookups answered from memory",
		Sem: pdu.SemCounter, Units: pdu.UnitCount,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
			return 17, nil
		},
	})
	pmda.Main(a)
}
