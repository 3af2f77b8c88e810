//go:build race

package pmdammv

// raceEnabled: the race detector makes sync.Pool drop values.
const raceEnabled = true
