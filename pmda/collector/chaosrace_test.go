//go:build race

package collector

// raceFactor is how much slower the race detector makes things.
const raceFactor = 4
