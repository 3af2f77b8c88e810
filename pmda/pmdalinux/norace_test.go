//go:build !race

package pmdalinux_test

// raceEnabled: the race detector makes sync.Pool drop values.
const raceEnabled = false
