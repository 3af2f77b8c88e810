//go:build !race

package mmv

// raceEnabled: the race detector makes sync.Pool drop values.
const raceEnabled = false
