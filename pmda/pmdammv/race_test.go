//go:build race

package pmdammv

// raceEnabled matters because the race detector makes sync.Pool drop values.
const raceEnabled = true
