package retention

import "time"

// Step sets a function that is called before each change.
func (o *Options) Step(step func(what string)) { o.step = step }

// Errors that tests expect.
var (
	ErrNotMerged = errNotMerged
	ErrOther     = errOther
)

// NextDay returns the next midnight after a time.
func NextDay(t time.Time) time.Time { return nextDay(t) }
