//go:build race

package pmdatrace

const raceEnabled = true
