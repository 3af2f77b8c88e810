package send

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
)

// Poll describes how Sender.Live reads a live source.
type Poll struct {
	Reader   *export.Reader
	Interval time.Duration // between two reads
	Samples  int           // the number of reads; 0 means no limit

	Take func(*export.Snapshot) // called after each successful read
	Away func()                 // called at the first of consecutive failed reads; may be nil
}

// Live reads a live source and sends until all messages have been sent; see the package comment.
// It reads at once and then at each multiple of the interval, and skips those that have passed. It
// reads until ctx ends, the source ends, or p.Samples reads are done. Sender.Timeout also limits a
// read. It returns an error if it cannot send at all, or if the receiver is
// away for two minutes after the last read.
func (s *Sender) Live(ctx context.Context, p *Poll) error {
	if err := s.open(); err != nil {
		return err
	}
	var sending sync.WaitGroup
	var err error
	sending.Go(func() { err = s.run(ctx) })
	s.poll(ctx, p)
	s.close()
	sending.Wait()
	return err
}

func (s *Sender) poll(ctx context.Context, p *Poll) {
	began, due := time.Now(), time.Duration(0)
	failing := false
	for n := 1; ; n++ {
		err := s.readOnce(ctx, p)
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) || errors.Is(err, pdu.ErrEOL) {
			return
		}
		if err != nil {
			s.queue.update(func(s *export.Stats) { s.ReadErrors++ })
		}
		if err != nil && !failing {
			s.warn("cannot read metrics", "error", err)
			if p.Away != nil {
				p.Away()
			}
		}
		failing = err != nil
		if n == p.Samples {
			return
		}
		due += p.Interval
		if late := time.Since(began) - due; late > 0 {
			due += (late + p.Interval - 1) / p.Interval * p.Interval
		}
		if ctxwait.Sleep(ctx, due-time.Since(began)) != nil {
			return
		}
	}
}

func (s *Sender) readOnce(ctx context.Context, p *Poll) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	snap, err := p.Reader.Read(ctx)
	if err != nil {
		return err
	}
	s.warnErrs(snap)
	p.Take(snap)
	return nil
}

// warnErrs logs the errors of a snapshot's metrics if they differ from those of the snapshot
// before.
func (s *Sender) warnErrs(snap *export.Snapshot) {
	if snap.Generation == s.generation {
		return
	}
	s.generation = snap.Generation
	text := ""
	if err := errors.Join(snap.Errs...); err != nil {
		text = err.Error()
	}
	if text != "" && text != s.warned {
		s.warn("metrics without values or metadata", "errors", len(snap.Errs), "first", snap.Errs[0])
	}
	s.warned = text
}
