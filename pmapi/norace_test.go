//go:build !race

package pmapi_test

// raceEnabled: the race detector makes sync.Pool drop values.
const raceEnabled = false
