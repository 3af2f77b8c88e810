package pmapi

import (
	"context"
	"errors"
	"iter"
	"net"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
)

// Every fetches at once and then at every multiple of an interval after that, and yields
// the time of the values, or the error of Fetch. It continues after an error. When a
// fetch, or the body of the loop, takes longer than the interval, the multiples that have
// passed are left out. An interval of 0 or less means no pause. Time is that of the source:
// of this computer, if that is a collector.
//
// On archives, time is that of the archive, and nothing waits: the rows are interpolated at the
// interval from the position on, backward in ModeBack. With an interval of 0, each row is what
// Fetch returns in the mode that is set, such as the next record.
//
// The loop ends without an error when ctx ends or the source has no more values, as an archive at
// its end. In a malformed part of an archive, one error, pdu.ErrLogRec, replaces the rows that
// cannot be read. The loop goes on with the rows after it; with an interval of 0 it ends there.
// When the context is closed, the loop ends at once, with one error, which is net.ErrClosed. A
// break may leave the loop, and another Every may follow.
//
//	for now, err := range g.Every(ctx, time.Second) {
//		if err != nil {
//			log.Print(err) // and try again
//			continue
//		}
//		…
//	}
func (g *Group) Every(ctx context.Context, interval time.Duration) iter.Seq2[time.Time, error] {
	return func(yield func(time.Time, error) bool) {
		src := g.c.src
		pausing, wake := context.WithCancel(ctx)
		defer wake()
		defer context.AfterFunc(g.c.open, wake)()
		archive := g.c.archive()
		if archive != nil && g.c.inTurn(ctx, func() error { archive.Every(interval); return nil }) != nil {
			return
		}
		began, due, pause := src.Now(), time.Duration(0), time.Duration(0)
		malformed := false // the row before
		for src.Sleep(pausing, pause) == nil || ctx.Err() == nil {
			at := src.Now()
			now, err := g.Fetch(ctx)
			ended := err != nil && (hasEnded(ctx) || errors.Is(err, source.ErrEnd))
			closed := errors.Is(err, net.ErrClosed) && g.c.isClosed() // else the body may close it
			stuck := err != nil && archive != nil && src.Now().Equal(at)
			bad := archive != nil && errors.Is(err, pdu.ErrLogRec)
			repeated := bad && malformed && !stuck
			malformed = bad
			if ended || !repeated && !yield(now, err) || closed || stuck {
				return
			}
			passed := src.Now().Sub(began)
			due = nextDue(due, passed, interval)
			pause = due - passed
		}
	}
}

// nextDue is the multiple of an interval that follows the one that was due, or the
// first of those after it that have not passed.
func nextDue(due, passed, interval time.Duration) time.Duration {
	if interval <= 0 {
		return 0
	}
	due += interval
	if late := passed - due; late > 0 {
		due += (late + interval - 1) / interval * interval
	}
	return due
}
