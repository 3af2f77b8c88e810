// Package export reads whole trees of metrics with their metadata, for programs that pass them on
// to another monitoring system. Packages openmetrics, remotewrite and otlp are such programs.
//
//	r := &export.Reader{Context: c, Names: []string{"kernel", "disk.dev"}}
//	for range time.Tick(10 * time.Second) {
//		snap, err := r.Read(ctx)
//		if err != nil {
//			log.Print(err) // the collector is away; the next Read tries again
//			continue
//		}
//		for m, values := range snap.All() {
//			for inst, value := range values.All(m.Desc.Type) {
//				fmt.Println(m.Name, m.InDom.Name(inst), value)
//			}
//		}
//	}
//
// # Reader or Group
//
// A pmapi.Group is for programs that know the names and types of their metrics. A Reader reads all
// metrics below the given names: new metrics and instances appear in the next Snapshot.
//
// # When metadata is read
//
// A Reader requests names, descriptors, texts, labels and instances once. It requests them again
// when the source reports a change, when a value has an instance without a known name, and when
// Reader.Refresh has passed.
//
// # Archives
//
// Reader.ReadRecord reads an archive record by record, each with its original time. Exporters send
// archives with it:
//
//	c, err := pmapi.Open(ctx, "/var/log/pcp/pmlogger/web1") // a directory of archives
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	e := &remotewrite.Exporter{Reader: &export.Reader{Context: c, Names: []string{"kernel"}}}
//	return e.Backfill(ctx, export.BackfillOptions{State: "web1.sent"})
//
// BackfillOptions.From and To limit the time, and Reader.Names the metrics. Derived metrics are not
// in records and are left out. The log lists those that Reader.Names select. All series end at a
// mark, where recording was interrupted, and start again with the next record that has them.
//
// With BackfillOptions.State, a file remembers how much the receiver has accepted. The next
// Backfill with the same file continues after the last accepted record, even if the archive has
// grown. It must have the same archive, receiver, metrics and From. If a program is killed, the
// messages that it was sending are sent again without change.
//
// Backfill ends at the first message that the receiver refuses. With BackfillOptions.KeepGoing it
// skips the message and counts it as failed. A receiver that is away is retried for two minutes.
package export
