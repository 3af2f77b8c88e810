package retention

import "time"

// Step sets what is called before each change.
func (o *Options) Step(step func(what string)) { o.step = step }

// Errors that tests look for.
var (
	ErrNotMerged = errNotMerged
	ErrOther     = errOther
)

// NextDay returns the next midnight after a time.
func NextDay(t time.Time) time.Time { return nextDay(t) }
