package pmapitest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/archivesource"
	"github.com/pcp-go/pcp/pmapi/internal/source"
)

// Replay returns a source that replays archives as a live host: contexts see a collector, in
// pmapi.ModeLive, whose metrics, instances, labels and values are those of the archives at the
// source's time. The paths are those of pmapi.Open.
//
//	src, err := pmapitest.Replay(ctx, "testdata/busy-day")
//	...
//	defer src.Close()
//	monitor(ctx, src.Context()) // the code under test
//
// Host, Start and End of the source are those of the archives. They may be changed before the first
// call of Context, and Speed may be set. Without Speed, time passes as in other sources with a
// Start, so that a day passes at once.
//
// Values are those of pmapi.ModeInterp: counters are interpolated between records, and others
// come from the record before. Faults work as in all sources. Add panics, because the source has
// only the metrics of the archives.
func Replay(ctx context.Context, path ...string) (*Source, error) {
	var files archive.Options
	set, err := files.Open(ctx, strings.Join(path, ","))
	if err != nil {
		return nil, err
	}
	end, err := set.End()
	if err != nil {
		return nil, errors.Join(err, set.Close())
	}
	return &Source{Host: set.Label().Host, Start: set.Start(), End: end, archives: archivesource.New(set, archivesource.Options{})}, nil
}

// Close closes the archives of a source of Replay, and its connections. It does nothing for other
// sources.
func (s *Source) Close() error {
	if s.archives == nil {
		return nil
	}
	s.mu.Lock()
	conns := slices.Clone(s.conns)
	s.mu.Unlock()
	var errs []error
	for _, c := range conns {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, s.archives.Close())...)
}

// replay opens the archives for a connection. It returns nil without archives. The caller holds the
// lock.
func (s *Source) replay() *archivesource.Source {
	if s.archives == nil {
		return nil
	}
	src, err := s.archives.Dup(context.Background())
	if err != nil {
		panic("pmapitest: a context on a source that is closed")
	}
	return src.(*archivesource.Source)
}

// played returns the archives at the current time of the source. The caller holds the lock.
func (c *conn) played() player {
	c.replay.PlayAt(c.s.now())
	return player{c.replay}
}

// A player answers requests from archives as a collector does.
type player struct{ a *archivesource.Source }

// liveError returns the error of a collector for that of an archive.
func liveError(err error) error {
	switch err {
	case error(pdu.ErrPMIDLog):
		return pdu.ErrPMID
	case error(pdu.ErrInDomLog):
		return pdu.ErrInDom
	case error(pdu.ErrInstLog):
		return pdu.ErrInst
	case error(pdu.ErrNotHost):
		return pdu.ErrText
	}
	return err
}

func liveErrors(errs source.Errors) source.Errors {
	for i, err := range errs {
		errs[i] = liveError(err)
	}
	return errs
}

func (p player) descs(ctx context.Context, ids []pdu.PMID) ([]pdu.Desc, source.Errors, error) {
	descs, errs, err := p.a.Descs(ctx, ids)
	return descs, liveErrors(errs), err
}

// instances returns the instances at the position. A domain has no instances before its first
// record, as on a host that has just started.
func (p player) instances(ctx context.Context, req pdu.InstanceReq) ([]pdu.Instance, error) {
	list, err := p.a.Instances(ctx, req)
	if err == error(pdu.ErrInDomLog) {
		if _, ever := p.a.AllInstances(pdu.InstanceReq{InDom: req.InDom, Inst: pdu.NoInst}); ever == nil {
			if req.Inst == pdu.NoInst && req.Name == "" {
				return nil, nil
			}
			return nil, pdu.ErrInst
		}
	}
	return list, liveError(err)
}

func (p player) texts(ctx context.Context, reqs []pdu.TextReq) ([]string, source.Errors, error) {
	texts, errs, err := p.a.Texts(ctx, reqs)
	return texts, liveErrors(errs), err
}

// scaled converts a duration of the source's time to this computer's.
func (s *Source) scaled(d time.Duration) time.Duration { return time.Duration(float64(d) / s.Speed) }
