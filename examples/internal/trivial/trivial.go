// Package trivial is the smallest possible agent: one metric. It serves the same metric as PCP's
// agent of the same name.
package trivial

import (
	"context"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// New returns the agent.
func New() *pmda.Agent {
	a := &pmda.Agent{Name: "trivial", Domain: 250}
	pmda.Register(a, pmda.Metric[uint64]{
		Name:  "trivial.time",
		Text:  "Unix time",
		Help:  "Seconds since the year 1970 began, in UTC, as the agent's clock has it.",
		Sem:   pdu.SemCounter,
		Units: pdu.TimeSec,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
			return uint64(time.Now().Unix()), nil
		},
	})
	// PCP's trivial is older than labels. Without this line the agent would have
	// {"agent":"trivial"}, like other agents.
	a.Use(func(next pmda.Handler) pmda.Handler { return noLabels{next} })
	return a
}

// noLabels is a Handler without labels.
type noLabels struct{ pmda.Handler }

func (noLabels) Labels(context.Context, *pmda.Request, pdu.LabelTarget) ([]pdu.LabelSet, error) {
	return nil, nil
}
