package pmdammv

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// controlName replaces the name of a file in the names of the agent's own metrics.
const controlName = "control"

// A control is one of the agent's own metrics. They are in cluster 0, which no file has, and their
// items are their indexes in controls.
type control struct {
	name, text, help string
	value            func(a *agent, s *snapshot) int32
	store            func(a *agent, v int32) // nil if stores are refused
}

// controls are the control metrics of the C agent of PCP 6: mmv.control.reload, mmv.control.debug
// and mmv.control.files.
var controls = [...]control{
	{
		name: "reload", text: "1 while a program changes its file in place",
		help: "Such a file is left out until its program has done. A store of any number but 0\nhas the next request look at the directory anew.",
		value: func(_ *agent, s *snapshot) int32 {
			if s.inFlux {
				return 1
			}
			return 0
		},
		store: func(a *agent, v int32) { a.reload.Store(v != 0) },
	}, {
		name: "debug", text: "Bits that switch diagnostics on",
		help:  "It can be stored, and is kept without effect.",
		value: func(a *agent, _ *snapshot) int32 { return a.debug.Load() },
		store: func(a *agent, v int32) { a.debug.Store(v) },
	}, {
		name: "files", text: "How many MMV files are served",
		help:  "Those with errors and those that are being changed do not count.",
		value: func(_ *agent, s *snapshot) int32 { return int32(len(s.files)) },
	},
}

// controlOf returns one of the agent's own metrics.
func controlOf(id pdu.PMID) (*control, bool) {
	if id.Cluster() != 0 || id.Item() >= len(controls) {
		return nil, false
	}
	return &controls[id.Item()], true
}

// desc returns the descriptor of one of the agent's own metrics.
func (*control) desc(id pdu.PMID) pdu.Desc {
	return pdu.Desc{PMID: id, Type: pdu.Type32, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
}

// Store sets control metrics. It refuses others with pdu.ErrPermission: only their program sets
// them.
func (h handler) Store(ctx context.Context, r *pmda.Request, values *pdu.Result) error {
	for i := range values.Len() {
		set := values.At(i)
		if set.PMID.Cluster() != 0 {
			return pdu.ErrPermission
		}
		c, ok := controlOf(set.PMID)
		switch {
		case set.Len() != 1:
			return pdu.ErrBadStore
		case !ok:
			return pdu.ErrPMID
		case c.store == nil:
			return pdu.ErrPermission
		}
		for _, atom := range set.All(pdu.Type32) {
			v, err := pdu.As[int32](atom)
			if err != nil {
				return err
			}
			c.store(h.a, v)
		}
	}
	return nil
}
