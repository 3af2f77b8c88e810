// Package mmv publishes the metrics of a Go program to Performance Co-Pilot (PCP), so that PCP's
// tools show them on any host, live and from archives.
//
//	var (
//		shop   = &mmv.Registry{Name: "shop"}
//		orders = shop.Counter("orders", mmv.Metric{Text: "Orders accepted"})
//	)
//
//	func main() {
//		if err := shop.Publish(""); err != nil {
//			log.Print(err) // the program goes on and counts in memory
//		}
//		http.HandleFunc("POST /order", func(http.ResponseWriter, *http.Request) {
//			orders.Inc()
//		})
//		log.Fatal(http.ListenAndServe("localhost:8080", nil))
//	}
//
// A [Registry] holds the metrics. Each registration returns a handle, which any goroutine may use.
// A handle of numbers updates memory atomically, without a lock, a system call or an allocation.
// Each Timer and each Text has a lock. PCP calls this metric mmv.shop.orders.
//
// # Try it without PCP
//
// A clone of this repository has a collector with the agent for MMV files, and the client pminfo.
// The collector and the program must use the same directory:
//
//	mkdir -p /tmp/pcp/mmv
//	export PCP_TMP_DIR=/tmp/pcp
//	go run ./examples/pmcd &                          # the collector
//	go run . &                                        # your program, in its module
//	curl -X POST localhost:8080/order
//	go run ./examples/pminfo -h localhost -dfmt mmv.shop
//
// pminfo prints:
//
//	mmv.shop.orders PMID: 70.1571.221 [Orders accepted]
//	    Data Type: 64-bit unsigned int  InDom: PM_INDOM_NULL 0xffffffff
//	    Semantics: counter  Units: none
//	    value 1
//
// # Metrics
//
// The kind of handle decides the type and the semantics of a metric:
//
//	Counter, FloatCounter  a number that only grows: Inc, Add
//	Gauge, FloatGauge      a number that goes up and down: Set, Add
//	Text                   a string of up to 254 bytes: Set
//	Timer                  the sum of times: defer busy.Start().Stop()
//	Histogram              the distribution of observations: Observe
//
// [Metric] has the text, the units and the labels of a metric; all its fields are optional. Units
// are constants of package [github.com/pcp-go/pcp/pdu], such as pdu.UnitCount, pdu.TimeMSec and
// pdu.SpaceByte. Metrics can be registered at any time. The zero value of a handle belongs to no
// metric, and is safe to update.
//
// PMIDs and the numbers of domains and instances are computed from names, so that they are the
// same after every restart. The fields Cluster, Item, Serial and ID set them explicitly.
//
// # Instances
//
// A metric over an instance domain has one value for each instance, such as each product:
//
//	products := shop.InDom("products", mmv.Domain{Text: "Products of the shop"})
//	sold := products.Counter("sold", mmv.Metric{Text: "Items sold"})
//	sold.With("Anvils").Add(3)
//
// The other kinds of metrics, such as products.Histogram, work in the same way.
//
// [Vec.With] returns the handle of an instance and adds the instance if it is new. [InDom.Remove]
// removes an instance from all metrics of the domain. [InDom.Add] adds one with labels or with a
// number.
//
// Do not use spaces in the name of an instance. Tools match a name up to its first space only. Of
// two instances whose names differ only after it, the second is not exported. A pattern of
// http.ServeMux has a space, so use strings.Replace(r.Pattern, " ", "::", 1). The program
// "pmrep --dynamic-header" follows instances that come and go.
//
// # Histograms
//
// A [Histogram] counts observations by bucket:
//
//	took := shop.Histogram("latency", mmv.Metric{Units: pdu.TimeMSec},
//		mmv.ExponentialBuckets(1, 2, 12)) // up to 1, 2, 4 ... 2048 ms, and above
//	start := time.Now()
//	...
//	took.ObserveDuration(time.Since(start))
//
// It is several metrics: latency.bucket, latency.count, latency.sum, and estimates of quantiles,
// latency.p50, latency.p90 and latency.p99. The quantiles cover the time since the program
// started. The rate of latency.sum divided by the rate of latency.count is the current mean.
//
// # Labels
//
// Labels describe a registry, a metric, a domain or an instance:
//
//	shop := &mmv.Registry{Name: "shop", Labels: mmv.Labels{"team": "sales"}}
//
// [Optional] marks a label that is not part of the identity of a time series.
//
// # Metrics of the Go runtime, of logs and of expvar
//
//   - [Registry.AddRuntime] adds the metrics of package runtime/metrics: shop.AddRuntime("go")
//     adds mmv.shop.go.sched.goroutines_goroutines and others.
//   - [Registry.LogHandler] counts log records by level.
//   - Package [github.com/pcp-go/pcp/mmv/mmvexpvar] adds the variables of package expvar.
//   - [Registry.OnRead] registers a function that computes values when they are read.
//
// # Where the values go
//
// A program publishes its values in a file, through a collector in the program, or both:
//
//	err := shop.Publish("")            // a file for the agent pmdammv of this host
//	err := srv.Add(pmdammv.Of(shop))   // srv is a collector.Server: no file
//
// Without either, only the program itself sees the values.
//
// The agent pmdammv is part of PCP's pmcd and of examples/pmcd. It serves the files of one
// directory: mmv in $PCP_TMP_DIR, which is /var/lib/pcp/tmp/mmv unless the environment or
// /etc/pcp.conf says otherwise. The directory must exist and the program must be allowed to write
// to it. Where PCP is installed, members of the group pcp are.
//
// If the file cannot be written, for example because the disk is full or the directory is missing,
// the program goes on. The values stay in memory and the registry tries again every second. No
// update is lost when a file grows or is replaced. [Registry.Close] removes the file, unless
// Registry.Process lets it outlive the program.
//
// This is a collector in the program, with packages [github.com/pcp-go/pcp/pmda/pmdammv] and
// [github.com/pcp-go/pcp/pmda/collector]. "pminfo -h localhost" then shows the metrics, without a
// pmcd:
//
//	srv := &collector.Server{}
//	if err := srv.Add(pmdammv.Of(shop)); err != nil {
//		log.Fatal(err)
//	}
//	ln, err := net.Listen("tcp", "localhost:44321")
//	if err != nil {
//		log.Fatal(err) // such as: a pmcd has the port
//	}
//	go srv.Serve(ctx, ln)
//
// # Errors
//
// A registration does not return an error: it always returns a handle that counts. A name that is
// registered twice or is not a valid name of PCP is an error of [Registry.Err] and
// [Registry.Publish], with the place in the program:
//
//	mmv: /src/shop/main.go:24: metric "stock": already registered at /src/shop/main.go:21
//
// Such a metric is not exported. Registry.Logger logs the same errors.
//
// # Testing
//
// Keep the registry and the handles in a struct, so that each test has its own. A test checks
// Registry.Err and the Value method of the handles. A [Snapshot] has all values as an agent sees
// them, under the names used at registration:
//
//	f, err := mmv.Read(s.metrics.Source())
//	...
//	values, err := f.Snapshot(time.Now())
//	...
//	v, ok := values.Lookup("orders", "Anvils") // "" if there are no instances
//	n, err := pdu.As[uint64](v)
//
// The example Test is such a test. A test can also read the metrics through a collector, as the
// package example does. A pmapi.Group converts counters to rates unless a metric is added with
// pmapi.Scale("instant").
//
// # If metrics are missing
//
// If pminfo prints "Unknown metric name" for mmv.NAME:
//
//   - Check [Registry.Err]. It reports a file that could not be written and metrics that were
//     refused.
//   - The program and the agent must use the same directory. Set PCP_TMP_DIR for both or for
//     neither.
//   - "go run ./examples/mmvdump FILE" prints what a file contains.
//   - An agent does not serve the file of a process that has ended, unless Registry.Process says
//     otherwise.
//   - Two programs with the same Name write the same file, and the later one replaces it. Use
//     different names.
//   - A Name with a dash, such as "my-app", is not valid in PCP. Nothing of it is served. Use
//     "my_app", or set [Registry.NoPrefix].
//
// # If you come from Prometheus
//
//	Prometheus                 here
//	{method="GET",path="/"}    an instance: v.With("GET::/"). For labels of the
//	                           instance: d.Add(mmv.Instance{Name: "GET::/",
//	                           Labels: mmv.Labels{"method": "GET"}})
//	const labels               Registry.Labels; for one metric Metric.Labels
//	MustRegister panics        Registry.Err reports file and line; the program goes on
//	NewTimer, ObserveDuration  h.ObserveDuration(time.Since(start)) of a Histogram,
//	                           in its unit of time. A Timer is the sum of times
//	_bucket, cumulative        NAME.bucket, not cumulative: each bucket counts from
//	                           the bound before it to its own
//	DeleteLabelValues          d.Remove("GET::/"), for all metrics of the domain
//	Counter.Add(float64)       FloatCounter; Counter is an integer
//	Gauge.Set(float64)         FloatGauge; Gauge is an integer
//	summary                    the quantiles of a Histogram, since the program started
//	GaugeFunc, collectors      a Gauge that a function of Registry.OnRead sets
//	/metrics                   not needed: Registry.Publish, or a collector in the
//	                           program. Names are mmv.NAME.metric
//
// # Programs
//
// In the directory examples, httpmetrics is a web server with a middleware that counts and times
// its requests by route. acme is the example of PCP's guide for programmers, a factory. mmvdump
// prints MMV files.
//
// # Reading files
//
// [Open] reads the file of another program, and [Read] reads any [Source]. Both check the file and
// return its metadata: instance domains, metrics and labels. [File.Snapshot] returns the values:
//
//	f, err := mmv.Open("/var/lib/pcp/tmp/mmv/acme")
//	if err != nil {
//		return err
//	}
//	defer f.Close()
//	s, err := f.Snapshot(time.Now())
//
// An agent that reads repeatedly uses a [Reader]. It needs few system calls for many values and
// reuses its memory. Files are read with pread and never mapped into memory, so a file that shrinks
// causes an error and not a signal.
//
// # Names in the C library
//
//	mmv_stats_registry(3), mmv_stats_init(3)   Registry
//	mmv_stats_start(3)                         Registry.Publish
//	mmv_stats_stop(3)                          Registry.Close
//	mmv_lookup_value_desc(3)                   Vec.With
//	mmv_inc_value(3)                           Counter.Add
//	mmv_set_value(3)                           Gauge.Set
//	mmv_set_string(3)                          Text.Set
//	mmv_stats_interval_start(3)                Timer.Start
//	mmv_stats_add_metric_label(3) and similar  Labels
package mmv
