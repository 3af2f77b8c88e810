//go:build !race

package mmv_test

// raceEnabled: the race detector allocates.
const raceEnabled = false
