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

// Every fetches at once and then at every multiple of the interval, and yields the results of
// Fetch. It continues after an error. Multiples that pass during a fetch, or during the body of the
// loop, are left out. An interval of 0 or less means no pause. The clock is that of the source; for
// a collector it is the clock of this computer.
//
// On archives the time is that of the archive, and Every does not wait. The rows are interpolated
// at the interval from the position on: backward in ModeBack, and in ModeInterp with a negative
// step. With an interval of 0, each row is what Fetch returns in the current mode, such as the next
// record.
//
// The loop ends without an error when ctx ends or the source has no more values, as an archive at
// its end. In a malformed part of an archive, one error, pdu.ErrLogRec, replaces the rows that
// cannot be read. The loop goes on with the rows after it; with an interval of 0 it ends there.
// When the Context is closed, the loop ends at once after one error, net.ErrClosed. After a break
// another loop may follow.
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

// nextDue returns the first multiple of an interval after due that has not passed.
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
