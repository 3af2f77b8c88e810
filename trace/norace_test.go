//go:build !race

package trace_test

// raceEnabled: the race detector allocates.
const raceEnabled = false
