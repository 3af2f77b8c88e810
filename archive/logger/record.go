package logger

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// runTask records a task, and reports whether all its groups were recorded. An error ends the
// logger.
func (l *Logger) runTask(ctx context.Context, t *task) (done bool, err error) {
	if l.lost {
		if ok, err := l.reconnect(ctx); !ok {
			l.countMissed(t)
			return false, err
		}
	}
	done = true
	size := int64(0)
	l.replan = false
	for i := 0; i < len(t.groups); i++ {
		g := t.groups[i]
		if g.stale { // all metrics of the task have changed
			return false, nil
		}
		before, volume := l.w.Size(), l.w.Label().Volume
		l.preamble = 0
		ok, err := l.record(ctx, g)
		if err != nil {
			return false, err
		}
		if l.replan && !t.replanned {
			t.replanned = true
			return l.runTask(ctx, t)
		}
		if done = done && ok; !ok && l.lost {
			l.countMissed(t)
			return false, nil
		}
		if ok {
			if l.w.Label().Volume != volume {
				before = 0
			}
			size += l.w.Size() - before - l.preamble
		}
	}
	t.replanned = false
	if size > 0 {
		l.recorded()
	}
	if done && !t.told {
		t.told = true
		l.report(Recorded{t.public(), size})
	}
	return done, nil
}

// countMissed counts a task that was not recorded because there is no collector.
func (l *Logger) countMissed(t *task) {
	if t.setting.Interval > 0 {
		l.missed++
	}
}

// record fetches a group and writes the values. ok is false if it has written no record.
func (l *Logger) record(ctx context.Context, g *group) (ok bool, err error) {
	if !l.push.hasRoom(l) {
		return false, nil
	}
	r := &g.result
	if err := l.fetch(ctx, g.profile, g.ids, r); err != nil {
		return false, l.failed(ctx, g, err)
	}
	if r.Changed != 0 || l.recheck {
		if err := l.changed(ctx, r.Changed, latest(r.Time, l.w.Last())); err != nil {
			return false, l.failedOrEnds(ctx, err)
		}
		if l.lost || l.replan {
			return false, nil
		}
	}
	if r.Time.Before(l.w.Last()) {
		if !l.behind {
			l.behind = true
			l.report(clockBack{l.w.Last(), r.Time})
		}
		return false, nil
	}
	if l.behind {
		l.behind, l.gap = false, true
		l.report(clockCaughtUp{l.w.Last()})
	}
	if !l.hasRecords() {
		if err := l.prologue(r.Time); err != nil {
			return false, err
		}
	}
	if err := l.mark(r.Time); err != nil {
		return false, err
	}
	if err := l.writeMetadata(ctx, g, r); err != nil {
		return false, l.failedOrEnds(ctx, err)
	}
	if err := l.write(g, r); err != nil {
		return false, err
	}
	if !g.recorded {
		g.recorded = true
		for i, m := range g.metrics {
			m.places = append(slices.DeleteFunc(m.places, func(p place) bool { return p.group.stale && p.group.task == g.task }), place{g, i})
		}
	}
	l.noteVolume()
	l.resumed = false
	return true, nil
}

// write writes the values of a group.
func (l *Logger) write(g *group, r *pdu.Result) error {
	if !g.derived {
		return l.w.WriteResult(r)
	}
	w := &l.renamed
	w.Reset()
	w.Time = r.Time
	for _, s := range r.All() {
		s.PMID = logged(s.PMID)
		w.Copy(s)
	}
	return l.w.WriteSets(w)
}

// logged returns the PMID that a metric has in an archive. It is different only for derived
// metrics.
func logged(id pdu.PMID) pdu.PMID {
	if !id.IsDerived() || id.IsLoggedDerived() {
		return id
	}
	return pdu.MakePMID(id.Domain(), id.Cluster()|derivedCluster, id.Item())
}

// derivedCluster is the bit that is set in the cluster of derived metrics in archives.
const derivedCluster = 2048

// mark writes a mark if l.gap is set. Its time is a millisecond after the last record, but not
// after before, the time of the next record.
func (l *Logger) mark(before time.Time) error {
	if !l.gap {
		return nil
	}
	l.gap = false
	t := l.w.Last().Add(time.Millisecond)
	if before.Before(t) {
		t = before
	}
	return l.w.WriteMark(t)
}

// failed handles a failed fetch. It returns nil, because a failed fetch does not end the logger.
func (l *Logger) failed(ctx context.Context, g *group, err error) error {
	switch {
	case ctx.Err() != nil:
		return nil
	case endsConnection(err):
		l.lose(err)
		return nil
	}
	l.report(groupFailed{g.task.public(), err})
	return nil
}

// failedOrEnds notes a loss of the connection; any other error ends the logger.
func (l *Logger) failedOrEnds(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	if e, ok := errors.AsType[*sourceError](err); ok {
		l.lose(e.err)
		return nil
	}
	return err
}

// A sourceError is an error of the connection, which does not end the logger.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

// writeMetadata writes the metadata that a reader of a result needs, unless the archive has it
// already.
func (l *Logger) writeMetadata(ctx context.Context, g *group, r *pdu.Result) error {
	if g.described {
		for _, i := range g.several {
			if err := l.valuesOf(ctx, g, i, r); err != nil {
				return err
			}
		}
		return nil
	}
	var texts *groupTexts // of new metrics
	for i, m := range g.metrics {
		if !l.meta.metrics[m.desc.PMID] {
			if texts == nil {
				var err error
				if texts, err = l.requestTexts(ctx, g.ids[i:]); err != nil {
					return err
				}
			}
			if err := l.describeMetric(ctx, g, m, r.At(i), r.Time, texts.of(m.desc.PMID)); err != nil {
				return err
			}
		}
		if err := l.valuesOf(ctx, g, i, r); err != nil {
			return err
		}
	}
	g.described = true
	return nil
}

// valuesOf writes what the values of the metric at index i need: instances, and parameters of
// events.
func (l *Logger) valuesOf(ctx context.Context, g *group, i int, r *pdu.Result) error {
	m, s := g.metrics[i], r.At(i)
	if err := l.updateInstances(ctx, g, m, s, r.Time); err != nil {
		return err
	}
	if m.event && s.Len() > 0 {
		return l.describeParams(ctx, m, s)
	}
	return nil
}
