package logger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// agentsChanged has the changes of a collector that may change metrics, namesChanged those that may
// change names.
const (
	agentsChanged = pdu.ChangeAddAgent | pdu.ChangeRestartAgent
	namesChanged  = agentsChanged | pdu.ChangeDropAgent | pdu.ChangeNames
)

// retryLost is the time between two attempts to connect, unless the context's Dialer.Backoff is
// longer.
const retryLost = time.Second

// checkConnection is how often a waiting logger checks its connection. So it can replace a lost
// connection before the next record is due.
const checkConnection = time.Second

// isLost reports whether an error of a request for metadata means that the connection is lost or
// that the context has ended, with any cause. An agent that does not reply causes the same error.
// To distinguish the two, isLost sends the collector another request.
func (l *Logger) isLost(ctx context.Context, err error) bool {
	if err != nil && ctx.Err() != nil {
		return true
	}
	if _, bulk := errors.AsType[*pmapi.BulkError](err); bulk || !endsConnection(err) {
		return false
	}
	return l.fetch(ctx, nil, []pdu.PMID{pdu.MakePMID(2, 0, 23)}, new(pdu.Result)) != nil
}

// endsConnection reports whether an error of a fetch is one of the connection, or of a collector
// that does not reply.
func endsConnection(err error) bool {
	return errors.Is(err, pdu.ErrIPC) || errors.Is(err, context.Canceled) || err != nil && pdu.FromError(err) == pdu.ErrTimeout
}

// lose notes that the connection was lost.
func (l *Logger) lose(err error) {
	if !l.lost {
		l.lost, l.retry = true, time.Now().Add(retryLost)
		l.report(Lost{l.host, time.Now(), err})
		l.publish()
	}
}

// reconnect tries to connect again. ok is false if there is no connection yet; an error ends the
// logger.
func (l *Logger) reconnect(ctx context.Context) (ok bool, err error) {
	if err := l.src.Reconnect(ctx); err != nil { // too early, or there is no collector
		l.retry = time.Now().Add(retryLost)
		if errors.Is(err, pdu.ErrTLS) && !l.noTLS {
			l.noTLS = true
			l.report(Lost{l.host, time.Now(), err})
		}
		return false, nil
	}
	l.noTLS = false
	l.lost, l.recheck, l.resumed = false, false, true
	l.report(Restored{l.host, time.Now()})
	l.publish()
	l.gap = true
	if !l.hasRecords() {
		_, l.first = l.session(ctx)
	}
	if err := l.checkMetrics(ctx, true); err != nil {
		return false, l.failedOrEnds(ctx, err)
	}
	return !l.lost, nil
}

// checkMetrics validates all metrics, and adds metrics with new names below those of the
// configuration. agents says that the collector or its agents may have been replaced; then a metric
// that is gone counts as changed.
func (l *Logger) checkMetrics(ctx context.Context, agents bool) error {
	if agents {
		l.report(Validating{time.Now()})
	}
	if err := l.validate(ctx, agents); err != nil {
		return err
	}
	if err := l.expand(ctx); err != nil {
		return &sourceError{err}
	}
	return nil
}

// hostChanged handles a notification that the host name of the collector has changed.
func (l *Logger) hostChanged(ctx context.Context) error {
	host := l.src.HostName(ctx)
	switch {
	case host == l.host:
	case l.opts.EndOnChange:
		return endError(EndHostname)
	default:
		l.report(hostChanged{l.host, host})
		l.host = host
	}
	return nil
}

// latest returns the later of two times.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// changed handles changes in the collector.
func (l *Logger) changed(ctx context.Context, c pdu.Change, t time.Time) error {
	recheck := l.recheck
	l.recheck = false
	if c&pdu.ChangeHostname != 0 {
		if err := l.hostChanged(ctx); err != nil {
			return err
		}
	}
	if recheck || c&agentsChanged != 0 {
		l.gap = true
	}
	if recheck || c&namesChanged != 0 {
		if err := l.checkMetrics(ctx, recheck || c&agentsChanged != 0); err != nil {
			return err
		}
	}
	if c&pdu.ChangeLabels != 0 {
		return l.labelsChanged(ctx, t)
	}
	return nil
}

// validate compares all metrics with their descriptors in the archive. Metrics that differ are not
// recorded until they agree again.
func (l *Logger) validate(ctx context.Context, agents bool) error {
	if len(l.order) == 0 {
		return nil
	}
	list := make([]string, len(l.order))
	for i, m := range l.order {
		list[i] = m.name
	}
	ids, err := l.src.Lookup(ctx, list)
	if ids == nil {
		return &sourceError{err}
	}
	different, replan := false, false
	var found []*metric
	var known []pdu.PMID
	for i, m := range l.order {
		if ids[i] == pdu.NoPMID {
			if e := pmapi.ErrorAt(err, i); errors.Is(e, pdu.ErrName) || errors.Is(e, pdu.ErrNonLeaf) {
				different = different || agents
				if !m.gone {
					m.gone = true
					l.report(MetricGone{m.name, e})
				}
			}
			continue // any other error comes from an agent that is not ready yet
		}
		m.gone = false
		found, known = append(found, m), append(known, ids[i])
	}
	if len(known) > 0 {
		descs, err := l.src.Descs(ctx, known)
		if descs == nil {
			return &sourceError{err}
		}
		for i, m := range found {
			if pmapi.ErrorAt(err, i) != nil {
				continue
			}
			changed := l.compare(m, descs[i])
			different = different || changed
			replan = replan || changed != m.changed
			m.changed = changed
		}
	}
	if different && l.opts.EndOnChange {
		return ErrMetricsChanged
	}
	if replan {
		l.gap, l.replan = true, true
		l.plan()
	}
	return nil
}

// compare reports whether a descriptor differs from that of the metric in the archive. It reports
// the differences, unless m.changed says that they have been reported.
func (l *Logger) compare(m *metric, is pdu.Desc) (changed bool) {
	was := m.desc
	for _, p := range []struct {
		part     string
		was, now fmt.Stringer
	}{
		{"PMID", was.PMID, is.PMID}, {"Type", was.Type, is.Type}, {"Semantics", was.Sem, is.Sem}, {"Instance domain", was.InDom, is.InDom}, {"Units", was.Units, is.Units},
	} {
		if p.was != p.now {
			changed = true
			if m.changed {
				continue
			}
			l.report(MetricChanged{m.name, p.part, p.was.String(), p.now.String()})
		}
	}
	return changed
}
