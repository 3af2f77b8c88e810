package retention

// Step sets what is called before each change.
func (o *Options) Step(step func(what string)) { o.step = step }

// Errors that tests look for.
var (
	ErrNotMerged = errNotMerged
	ErrOther     = errOther
)
