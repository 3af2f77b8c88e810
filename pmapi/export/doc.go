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
// Reader.ReadRecord reads an archive record by record, each with its original time. Package
// backfill uses it to send archives.
package export
