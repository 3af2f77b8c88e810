//go:build race

package openmetrics_test

// raceEnabled: the race detector allocates.
const raceEnabled = true
