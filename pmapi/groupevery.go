package pmapi

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/pcp-go/pcp/pmapi/internal/source"
)

// Every fetches at once and then at every multiple of an interval after that, by
// this computer's clock, and yields what Fetch returns: the time of the values, or
// an error, after which it goes on. When a fetch, or what the caller does with it,
// takes longer than the interval, the multiples that have passed are left out. An
// interval of 0 or less leaves no pause.
//
// It ends, without yielding an error, when ctx ends. Breaking out of the loop ends
// it too, and another Every may follow.
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
		began, due, pause := src.Now(), time.Duration(0), time.Duration(0)
		for src.Sleep(ctx, pause) == nil {
			now, err := g.Fetch(ctx)
			if err != nil && (hasEnded(ctx) || errors.Is(err, source.ErrEnd)) || !yield(now, err) {
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
