//go:build race

package pmda_test

// raceEnabled: the race detector makes sync.Pool drop values.
const raceEnabled = true
