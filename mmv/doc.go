// Package mmv instruments programs with memory-mapped values, and reads them: files in which a program keeps the
// values of its metrics for others to read while it runs. Setting a value is a store to memory. pmdammv, an agent of
// a collector, exports the files of a directory.
//
// # Instrumenting a program
//
// A Registry returns a handle for each metric, through which the program sets the value from any goroutine:
//
//	var (
//		reg      = mmv.Registry{Name: "shop"}
//		orders   = reg.Counter("orders.count", mmv.Metric{Text: "Orders accepted", Units: pdu.UnitCount})
//		queue    = reg.Gauge("orders.queued", mmv.Metric{Text: "Orders waiting"})
//		latency  = reg.Histogram("orders.latency", mmv.Metric{Units: pdu.TimeSec}, mmv.ExponentialBuckets(0.001, 2, 15))
//		payments = reg.InDom("payments", mmv.Domain{Text: "Ways to pay"})
//		paid     = payments.Counter("payments.count", mmv.Metric{Text: "Payments"})
//	)
//
//	orders.Inc()
//	paid.With("card").Inc()
//	latency.ObserveDuration(time.Since(start))
//
// One line of main says how the values are seen. This one writes a file for the pmdammv of any host; pminfo then
// shows them as mmv.shop.orders.count and so on:
//
//	err := reg.Publish("") // reg.Close removes the file
//
// An agent in the same process needs no file: package pmdammv serves a Registry, too. Without either, nobody sees the
// values. The zero value of a handle is of no metric and forgets its updates.
//
//	Counter, FloatCounter  grow: Inc, Add
//	Gauge, FloatGauge      go up and down: Set, Add
//	Timer                  the time that something takes, while it goes on
//	Text                   a string
//	Histogram              how often something was how great: buckets, count, sum, quantiles
//
// InDom has the same for each of many things: a Vec, whose With returns the handle of one of them. Metrics, instances
// and labels can be added at any time. Handles stay valid and no update is lost when the file grows. Registrations
// and files never stop the program: what is wrong is in Registry.Err, and logged by Registry.Logger.
//
// Metrics of the Go runtime come with Registry.AddRuntime, counts of log records with Registry.LogHandler, the variables of
// expvar with package mmvexpvar, and values that are computed when somebody reads them with Registry.OnRead.
//
// # Reading
//
// Open reads a file, Read any Source that holds one. Both check everything and return the metadata: instance domains,
// metrics, labels. File.Snapshot has them with values:
//
//	f, err := mmv.Open("/var/lib/pcp/tmp/mmv/acme")
//	if err != nil {
//		return err
//	}
//	defer f.Close()
//	s, err := f.Snapshot(time.Now())
//
// An agent that reads again and again uses a Reader, which reads the values of many metrics at once into its own
// memory. Files are read with pread, never mapped: one that is cut while it is read gives an error, not a signal.
//
// # Names in the C library
//
// mmv_stats_registry(3) and mmv_stats_init(3) are Registry, mmv_stats_start(3) is Registry.Publish, mmv_stats_stop(3)
// Registry.Close, mmv_lookup_value_desc(3) Vec.With, mmv_inc_value(3) Counter.Add, mmv_set_value(3) Gauge.Set,
// mmv_set_string(3) Text.Set, mmv_stats_interval_start(3) Timer.Start, mmv_stats_add_metric_label(3) and those like
// it are Labels.
package mmv
