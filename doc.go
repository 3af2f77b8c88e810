// Package pcp is the root of an implementation of Performance Co-Pilot in pure
// Go. It holds no code: this page is the map of its packages.
//
//	pdu                      data model and protocol: identifiers, types, units, values, labels, PDUs, framing
//	pdu/pdutest              a scripted peer in memory, for tests
//	pdu/sasl                 how clients log in: SCRAM-SHA-256, PLAIN, LOGIN, files of users
//	pmns                     metric name spaces: files, trees, merging
//	pmapi                    clients: contexts on collectors and archives, fetch groups, fleets, derived metrics, rates, labels
//	pmapi/local              contexts on agents in the same process, without a collector
//	pmapi/pmapitest          made-up sources of metrics, for tests of clients
//	pmapi/export             whole trees of metrics with all that is known of them, to pass on
//	pmapi/export/nodeview    metrics of Linux under node_exporter's names
//	pmapi/export/openmetrics a page of metrics for Prometheus and its kin, as an http.Handler: OpenMetrics 1.0, text 0.0.4, pmproxy's form
//	pmapi/export/backfill    archives sent on in order, each record once, with a place to resume from
//	pmapi/export/remotewrite metrics sent to Prometheus and its kin by remote write 1.0, live or of archives
//	pmapi/export/send        what exporters share: a queue in memory or in a directory, retries, exact counts
//	pmapi/export/otlp        metrics sent to OpenTelemetry: OTLP over HTTP in JSON, with retries and a queue
//	pmapi/tool               standard options and printing, for command-line tools
//	pmapi/tool/report        reports of metrics in columns, as pmrep writes them: text, CSV, archives, metric sets of configuration files
//	pmapi/proxy              PCP's clients passed on to collectors that they cannot reach themselves, as pmproxy does
//	pmapi/webapi             metrics over HTTP: the REST interface of pmproxy, for Grafana and scripts, and a page that shows metrics
//	pmapi/timecontrol        the protocol of pmtime: a server that steps programs through time, and its clients
//	pmda                     agents: tables of metrics, handlers, Main
//	pmda/pmdatest            a conformance test for agents
//	pmda/helptext            help texts in files, their source and compiled
//	pmda/remote              a collector's side of an agent in another process
//	pmda/collector           the collector, to embed or to run (examples/pmcd)
//	pmda/collector/pmcdconf  its configuration file and access rules
//	mmv                      instrumentation: registries, handles, MMV files
//	mmv/mmvexpvar            variables of package expvar in a registry
//	archive                  archives: records, metadata, cursors over what was recorded; from files or an fs.FS
//	archive/logimport        archives of values that a program has, as libpcp_import makes them
//	archive/logextract       one archive of several: merged, cut by time, metrics selected
//	archive/logreduce        archives with fewer records: values at regular times
//	archive/logrewrite       rules that change what an archive says of its metrics
//	archive/logger           the recording engine of pmlogger: a context into an archive
//	archive/logger/logconf   its configuration language
//	archive/logger/pmlc      the protocol of pmlc: ask a running logger what it records, change it
//	archive/logger/record    record mode: sessions that record hosts on the fly, with a folio
//	archive/logger/retention archives of days: begun at midnight, merged, compressed, removed
//	archive/push             archives sent from one computer to another while they grow: the /logger of pmproxy 7 as an http.Handler
//	trace                    trace data: transactions, points, observations
//	pmda/pmdammv             an agent: metrics of MMV files and of registries
//	pmda/pmdatrace           an agent: metrics of trace data
//	pmda/pmdalinux           an agent: metrics of the Linux kernel, the same as those of PCP's own
//	pmda/pmdaproc            an agent: metrics of processes, control groups and processes that have ended (proc, hotproc, cgroup, acct), the same as those of PCP's own
//	pmda/pmdago              an agent: metrics of Go's run time in this program
//	pmda/pmdago/goexpvar     metrics made of the variables of package expvar
//
// The programs under examples are PCP's tools, built from these packages;
// examples/embed is a web server with a collector inside, examples/httpmetrics one
// that measures its requests, examples/acme and examples/tracedemo are PCP's demos of
// instrumented programs, and examples/mmvdump, pmdammv and pmdatrace print and serve
// what such programs have. examples/fleet watches many hosts. examples/pcp2prometheus and
// pcp2otlp send metrics, of hosts and of archives, to Prometheus and to OpenTelemetry. examples/newhelp and chkhelp compile and print the help texts
// of agents, examples/pmgenmap makes code of a list of metrics.
//
// # Reading metrics
//
// A context is a source of metrics, usually a connection to a collector in another
// process or in this one; pmapi.Open makes one of archives. A group fetches metrics together and turns counters into
// rates.
//
//	c, err := pmapi.Dial(ctx, "web1.example.com")
//	g := c.Group()
//	load := pmapi.Add[float64](g, "kernel.all.load", pmapi.Instance("1 minute"))
//	read := pmapi.AddSet[float64](g, "disk.dev.read_bytes", pmapi.Scale("Mbyte/second"))
//	for now, err := range g.Every(ctx, time.Second) {
//		if err != nil {
//			break
//		}
//		if l, err := load.Value(); err == nil {
//			fmt.Println(now, "load", l)
//		}
//		for disk, mbps := range read.All() {
//			fmt.Println(now, disk.Name, mbps, "MB/s")
//		}
//	}
//
// # Exporting metrics
//
// An agent is a value: metrics and instance domains in tables, with a function
// for each value. The same agent runs in a program of its own under pmcd, or in
// a collector inside your program.
//
//	a := &pmda.Agent{Name: "cache", Domain: 400}
//	pmda.Register(a, pmda.Metric[uint64]{
//		Name: "cache.hits", Text: "Lookups answered from memory",
//		Sem: pdu.SemCounter, Units: pdu.UnitCount,
//		Value: func(ctx context.Context, r *pmda.Request, i pdu.Instance) (uint64, error) {
//			return hits.Load(), nil
//		},
//	})
//	pmda.Main(a) // under pmcd, over a pipe or a socket
//
// # Embedding a collector
//
// A collector is a value too. It needs no files and no privileges; the listeners
// are yours.
//
//	srv := &collector.Server{Logger: slog.Default()}
//	srv.Add(a)
//	srv.Add(pmdago.New(pmdago.Options{}))
//	err := srv.Serve(ctx, ln) // until ctx ends; then everything has gone
//
// # Instrumenting a program
//
// A registry has the metrics of a program; handles set their values, with one atomic
// operation. Tools see them by a file that PCP's agent mmv serves, by a collector in
// the program, or by both.
//
//	shop := &mmv.Registry{Name: "shop"}
//	orders := shop.Counter("orders", mmv.Metric{Text: "Orders accepted", Units: pdu.UnitCount})
//	latency := shop.Histogram("latency", mmv.Metric{Units: pdu.TimeSec}, mmv.ExponentialBuckets(0.001, 2, 12))
//	orders.Inc()
//	latency.Observe(0.05)
//	err := shop.Publish("")         // a file
//	err = srv.Add(pmdammv.Of(shop)) // a collector
//	span := trace.Begin(ctx, "checkout")
//	span.End()
//
// # Speaking the protocol
//
//	c := pdu.NewConn(stream)
//	offered, err := pdu.ClientHello(c, 0, 0)
//	err = c.Write(0, pdu.DescReq{PMID: id})
//	h, body, err := c.Read()
//
// Names of the C library stand in the comments of their counterparts, so that a
// reader of PCP's guides finds pmdaInit or pmGetInDom by a search.
//
// # Compatibility
//
// These packages have version 0: exported names may change from one minor version
// to the next, but not from one patch to the next. internal/apigolden/testdata
// lists the exported API of each package, so that a change is seen in review and
// can be found in the history. Not part of the API are packages below internal and
// examples, the texts of errors and of log lines, and what a comment does not
// promise. Fields may be added to structs: name the fields in composite literals.
//
// What will not change is what PCP defines: the protocol on the wire, the formats
// of files, numbers and texts of PCP's own error codes, the texts of values,
// identifiers and units, and the options and output of the tools. There this
// follows PCP, which stays compatible with its older versions.
package pcp
