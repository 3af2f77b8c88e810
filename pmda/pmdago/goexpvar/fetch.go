package goexpvar

import (
	"context"
	"sync"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A split is a fetch of metrics of this package and of others.
type split struct {
	mine   []*metric // by index of the PMID; nil for others
	others []pdu.PMID
	w      pdu.ResultWriter // of others
}

var splits = sync.Pool{New: func() any { return new(split) }}

// Fetch writes the values of variables and those of the wrapped Handler.
func (e *exporter) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	s := splits.Get().(*split)
	defer s.release()
	for _, id := range ids {
		m := e.metric(id)
		s.mine = append(s.mine, m)
		if m == nil {
			s.others = append(s.others, id)
		}
	}
	if len(s.others) == len(ids) {
		return e.Handler.Fetch(ctx, r, ids, w)
	}
	if len(s.others) > 0 {
		s.w.Limit, s.w.Memory = w.Limit, w.Memory
		if err := e.Handler.Fetch(ctx, r, s.others, &s.w); err != nil {
			return err
		}
		if err := s.w.Err(); err != nil {
			return err
		}
		w.Changed |= s.w.Changed
	}
	if err := e.turn.Lock(ctx); err != nil {
		return err
	}
	defer e.turn.Unlock()
	e.readVariables(ctx, s.mine)
	other := 0
	for i, m := range s.mine {
		if m == nil {
			w.CopySets(&s.w, other, other+1)
			other++
			continue
		}
		w.Begin(ids[i])
		m.write(w, r.Profile)
	}
	return nil
}

func (s *split) release() {
	clear(s.mine)
	s.mine, s.others = s.mine[:0], s.others[:0]
	s.w.Reset()
	splits.Put(s)
}

// readVariables reads the variables of metrics, each once.
func (e *exporter) readVariables(ctx context.Context, metrics []*metric) {
	e.list()
	for _, m := range metrics {
		if m != nil && !m.top.seen {
			m.top.seen = true
			e.readVariable(ctx, m.top)
		}
	}
	for _, m := range metrics {
		if m != nil {
			m.top.seen = false
		}
	}
}

// write writes the values of the last read.
func (m *metric) write(w *pdu.ResultWriter, p *pdu.Profile) {
	switch v := &m.values; {
	case v.err != nil:
		w.Fail(pdu.FromError(v.err))
	case !v.ok:
	case m.kind == kindInt:
		w.Int64(pdu.NoInst, v.i)
	case m.kind == kindFloat:
		w.Float64(pdu.NoInst, v.f)
	case m.kind == kindString:
		w.String(pdu.NoInst, v.s)
	case m.kind == kindBool:
		w.Uint32(pdu.NoInst, uint32(v.i))
	default:
		m.writeInstances(w, p.For(m.indomID()))
	}
}

func (m *metric) writeInstances(w *pdu.ResultWriter, rule pdu.InDomProfile) {
	for _, v := range m.values.insts {
		switch {
		case !rule.Includes(v.id):
		case m.kind == kindInts:
			w.Int64(v.id, v.i)
		default:
			w.Float64(v.id, v.f)
		}
	}
}
