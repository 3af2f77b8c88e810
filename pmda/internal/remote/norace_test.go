//go:build !race

package remote_test

// raceEnabled: the race detector makes sync.Pool drop values.
const raceEnabled = false
