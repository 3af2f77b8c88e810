//go:build race

package pmdalinux_test

// raceEnabled reports whether the race detector is on. It makes sync.Pool drop values.
const raceEnabled = true
