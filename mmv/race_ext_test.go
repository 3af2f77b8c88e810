//go:build race

package mmv_test

const raceEnabled = true
