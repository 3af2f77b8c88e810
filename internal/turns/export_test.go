package turns

// Uses is how many uses are kept.
func (q *Queue) Uses() int { return len(q.uses) }

// KeepsMap reports whether there is a map of them.
func (q *Queue) KeepsMap() bool { return q.uses != nil }
