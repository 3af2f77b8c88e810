package logreduce

// SetMaxIdle has fewer intervals without a record.
func SetMaxIdle(n int) (restore func()) {
	before := maxIdle
	maxIdle = n
	return func() { maxIdle = before }
}
