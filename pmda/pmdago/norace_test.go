//go:build !race

package pmdago

// raceEnabled reports whether the race detector is on. It makes sync.Pool drop values.
const raceEnabled = false
