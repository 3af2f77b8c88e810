//go:build race

package exposition_test

// raceEnabled: the race detector allocates.
const raceEnabled = true
