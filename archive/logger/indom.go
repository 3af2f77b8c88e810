package logger

import (
	"context"
	"slices"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// An indom notes what the archive has of an instance domain.
type indom struct {
	ids   map[pdu.InstID]bool // the instances of its last record
	stamp time.Time           // time of that record
	asked time.Time           // time of the latest result that led to a request
}

// updateInstances writes the instances of a metric's domain, and their labels, if the instances of
// the values have changed.
func (l *Logger) updateInstances(ctx context.Context, g *group, m *metric, s pdu.ValueSet, t time.Time) error {
	if m.desc.InDom == pdu.NoInDom || s.Len() == 0 {
		return nil
	}
	same := len(m.last) == s.Len()
	for i := 0; same && i < len(m.last); i++ {
		same = m.last[i] == s.Inst(i)
	}
	if same {
		return nil
	}
	d := l.meta.indoms[m.desc.InDom]
	need := d == nil || m.last != nil && !l.sameInstances(m, s)
	m.last = slices.Grow(m.last[:0], s.Len())
	for i := range s.Len() {
		inst := s.Inst(i)
		m.last = append(m.last, inst)
		m.logged[inst] = true
		need = need || !d.ids[inst]
	}
	if need {
		if d == nil {
			d = &indom{}
			l.meta.indoms[m.desc.InDom] = d
		}
		if !d.asked.Equal(t) && d.stamp.Before(t) {
			if err := l.recordInstances(ctx, g, m, d, t); err != nil {
				return err
			}
		}
	}
	if m.last == nil { // the request for the instances failed
		return nil
	}
	if !l.meta.areNew(m.desc.InDom, s) {
		return nil
	}
	err := l.instanceLabels(ctx, m.desc.InDom, t, g.profile)
	if err != nil {
		m.last, l.meta.insts[m.desc.InDom] = nil, map[pdu.InstID]bool{} // try again with the next values
	}
	return err
}

// sameInstances reports whether values are those of the same instances as before, in any order.
func (l *Logger) sameInstances(m *metric, s pdu.ValueSet) bool {
	if len(m.last) != s.Len() {
		return false
	}
	last := slices.Clone(m.last)
	now := make([]pdu.InstID, s.Len())
	for i := range now {
		now[i] = s.Inst(i)
	}
	slices.Sort(last)
	slices.Sort(now)
	return slices.Equal(last, now)
}

// recordInstances requests all instances of a domain and writes them if they have changed.
func (l *Logger) recordInstances(ctx context.Context, g *group, m *metric, d *indom, t time.Time) error {
	list, err := l.src.Instances(ctx, m.desc.InDom)
	switch {
	case l.isLost(ctx, err):
		m.last = nil
		return &sourceError{err}
	case err != nil:
		m.last = nil // try again with the next values
		l.report(metadataMissing{m.name, err})
		return nil
	}
	d.asked = t
	changed, err := l.w.UpdateInDom(t, m.desc.InDom, list)
	if err != nil || !changed {
		return err
	}
	d.stamp = t
	d.ids = make(map[pdu.InstID]bool, len(list))
	for _, i := range list {
		d.ids[i.ID] = true
	}
	return nil
}
