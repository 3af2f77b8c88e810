package retention

// Step sets what is called before each change.
func (o *Options) Step(step func(what string)) { o.step = step }

// ErrNotMerged is the error if Merge has made nothing.
var ErrNotMerged = errNotMerged
