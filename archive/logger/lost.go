package logger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// Changes in a collector after which metrics may be others, and after which names may be.
const (
	agentsChanged = pdu.ChangeAddAgent | pdu.ChangeRestartAgent
	namesChanged  = agentsChanged | pdu.ChangeDropAgent | pdu.ChangeNames
)

// retryLost is how often a connection is tried, unless the context's Dialer.Backoff forbids it.
const retryLost = time.Second

// isLost reports whether an error of a request for metadata is one of the connection, or the end of the context, whatever its cause. The
// code of an agent that does not reply looks the same: so it asks the collector for something else.
func (l *Logger) isLost(ctx context.Context, err error) bool {
	if err != nil && ctx.Err() != nil {
		return true
	}
	if _, bulk := errors.AsType[*pmapi.BulkError](err); bulk || !endsConnection(err) {
		return false
	}
	return l.fetch(ctx, nil, []pdu.PMID{pdu.MakePMID(2, 0, 23)}, new(pdu.Result)) != nil
}

// endsConnection reports whether an error of a fetch is one of the connection, or of a collector that does not reply.
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

// reconnect tries to connect again. ok is false if there is no connection yet; an error ends the logger.
func (l *Logger) reconnect(ctx context.Context) (ok bool, err error) {
	if err := l.src.Reconnect(ctx); err != nil { // too early, or there is no collector
		l.retry = time.Now().Add(retryLost)
		return false, nil
	}
	l.lost, l.recheck, l.resumed = false, false, true
	l.report(Restored{l.host, time.Now()})
	l.publish()
	if err := l.resume(ctx); err != nil {
		return false, l.failedOrEnds(ctx, err)
	}
	return !l.lost, nil
}

// resume goes on after values that may have nothing to do with those before: metrics are checked, and there will be a mark.
func (l *Logger) resume(ctx context.Context) error {
	l.report(Validating{time.Now()})
	if err := l.validate(ctx); err != nil {
		return err
	}
	if err := l.expand(ctx); err != nil {
		return &sourceError{err}
	}
	l.gap = true
	return nil
}

// latest is the later one of two times.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// changed takes notice of changes in the collector.
func (l *Logger) changed(ctx context.Context, c pdu.Change, t time.Time) error {
	recheck := l.recheck
	l.recheck = false
	if c&pdu.ChangeHostname != 0 {
		if host := l.src.HostName(ctx); host != l.host {
			return endError(EndHostname)
		}
	}
	if recheck || c&agentsChanged != 0 {
		if err := l.resume(ctx); err != nil {
			return err
		}
	} else if c&namesChanged != 0 {
		if err := l.expand(ctx); err != nil {
			return &sourceError{err}
		}
	}
	if c&pdu.ChangeLabels != 0 {
		return l.labelsChanged(ctx, t)
	}
	return nil
}

// validate checks that metrics are what they were.
func (l *Logger) validate(ctx context.Context) error {
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
	gone := false
	var found []*metric
	var known []pdu.PMID
	for i, m := range l.order {
		if ids[i] == pdu.NoPMID {
			if e := pmapi.ErrorAt(err, i); errors.Is(e, pdu.ErrName) || errors.Is(e, pdu.ErrNonLeaf) {
				gone = true
				l.report(MetricGone{m.name, e})
			}
			continue // an agent that is not ready yet has the others
		}
		found, known = append(found, m), append(known, ids[i])
	}
	if len(known) > 0 {
		descs, err := l.src.Descs(ctx, known)
		if descs == nil {
			return &sourceError{err}
		}
		for i, m := range found {
			changed := pmapi.ErrorAt(err, i) == nil && l.compare(m, descs[i])
			gone = gone || changed
		}
	}
	if gone {
		return ErrMetricsChanged
	}
	return nil
}

// compare reports what of a metric has changed.
func (l *Logger) compare(m *metric, is pdu.Desc) (changed bool) {
	was := m.desc
	for _, p := range []struct {
		part     MetricPart
		was, now fmt.Stringer
	}{
		{PartPMID, was.PMID, is.PMID}, {PartType, was.Type, is.Type}, {PartSem, was.Sem, is.Sem}, {PartInDom, was.InDom, is.InDom}, {PartUnits, was.Units, is.Units},
	} {
		if p.was != p.now {
			changed = true
			l.report(MetricChanged{m.name, p.part, p.was.String(), p.now.String()})
		}
	}
	return changed
}
