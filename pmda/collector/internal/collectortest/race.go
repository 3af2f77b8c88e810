//go:build race

package collectortest

// RaceFactor is how much slower the race detector makes things.
const RaceFactor = 4
