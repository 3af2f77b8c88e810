// Package logreduce makes a smaller archive from another one. It writes values at regular
// intervals, as pmlogreduce(1) does.
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
// Values are interpolated as in pmapi.ModeInterp, not averaged. Counters of 32 bits become counters
// of 64 bits, because they may overflow more than once in a longer interval. Event and aggregate
// metrics are omitted, as are labels and help texts.
//
// # Cost
//
// The cost grows with the number of input records, not with the time between them. After 1,000
// consecutive intervals without an input record, Reduce skips to the next one if the last interval
// wrote nothing. It also skips once there were 250,000 such intervals in all, plus 100 per input
// record.
//
// # Differences from pmlogreduce
//
//   - For the intervals that Reduce skips, pmlogreduce writes records without values.
//   - A record at exactly the end of the archive is written; pmlogreduce omits it.
package logreduce
