package logreduce

// SetMaxIdle sets the allowed number of intervals without a record.
func SetMaxIdle(n int) (restore func()) {
	before := maxIdle
	maxIdle = n
	return func() { maxIdle = before }
}
