package turns

// Uses is how many uses are kept.
func (q *Queue) Uses() int { return len(q.uses) }
