//go:build race

package goexpvar

// raceEnabled: the race detector makes sync.Pool drop values.
const raceEnabled = true
