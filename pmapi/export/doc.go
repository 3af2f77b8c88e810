// Package export reads whole trees of metrics, with all that is known of them, for programs that pass them on to other monitoring
// systems: such as a page for Prometheus, or messages for OpenTelemetry.
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
// A pmapi.Group is for programs that know the names of what they want, and its types. A Reader takes what there is: new metrics and
// instances appear as they come. It asks for names, descriptors, texts, labels and instances once, and again when the source
// says that they have changed, when an instance has a value but no name yet, and after Reader.Refresh.
package export
