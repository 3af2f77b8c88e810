// Package logreduce makes an archive with fewer records from another one. It writes the values at
// regular times, as pmlogreduce(1) does.
//
//	pc, err := pmapi.Open(ctx, "20261123")
//	if err != nil {
//		return err
//	}
//	defer pc.Close()
//	o := logreduce.Options{
//		Interval: 10 * time.Minute,
//		Skipped:  func(name string, t pdu.Type) { log.Println(name, t, "is left out") },
//	}
//	err = o.Reduce(ctx, pc, "20261123-reduced")
//
// # Values
//
// Values are those of a context in pmapi.ModeInterp. They are not averaged, and counters remain
// counters. Counters of 32 bits become counters of 64 bits, because they may overflow more than
// once in a longer interval. Metrics of events and aggregates are left out, as are labels and help
// texts.
//
// # Cost
//
// The cost grows with the number of records, not with the time between them. Reduce skips intervals
// without a record after many of them: 250,000 in all, and 100 more per record.
//
// # Differences from pmlogreduce
//
//   - For the intervals that Reduce skips, pmlogreduce writes records without values.
//   - A record at exactly the end of the archive is written. pmlogreduce leaves it out.
package logreduce
