//go:build race

package pmdago

// raceEnabled: the race detector makes sync.Pool drop values.
const raceEnabled = true
