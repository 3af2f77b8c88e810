// Package logreduce makes an archive of another one with fewer records: the values at regular times, as pmlogreduce(1) does.
//
//	pc, err := pmapi.Open(ctx, "20261123")
//	…
//	err = logreduce.Options{Interval: 10 * time.Minute}.Reduce(ctx, pc, "20261123-reduced")
//
// Values are what a context in pmapi.ModeInterp has: nothing is averaged, and counters stay counters. Those of 32 bits become
// counters of 64 bits, since they may pass their greatest value more than once in a longer interval. Metrics of
// events and of aggregates are left out, as are labels and help texts.
//
// It stands on package pmapi, and not below it as package archive does.
package logreduce
