//go:build !race

package remotewrite_test

// raceEnabled: the race detector allocates.
const raceEnabled = false
