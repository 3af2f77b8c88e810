//go:build race

package goexpvar

// raceEnabled reports whether the race detector is on. It makes sync.Pool drop values.
const raceEnabled = true
