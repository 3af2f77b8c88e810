// Package pmapi reads metrics of Performance Co-Pilot: from collectors on this computer and
// on others, from collectors in the same process, and from archives.
//
//	d := &pmapi.Dialer{AutoReconnect: true}
//	c, err := d.OpenSource(ctx, "localhost") // or an archive, "/var/log/web1" or "./web1"
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	g := c.Group()
//	load := pmapi.Add[float64](g, "kernel.all.load", pmapi.Instance("1 minute"))
//	disks := pmapi.AddSet[float64](g, "disk.dev.read_bytes", pmapi.Scale("Mbyte/second"))
//	for now, err := range g.Every(ctx, time.Second) {
//		if err := cmp.Or(err, g.Err()); err != nil {
//			log.Print(err) // no collector, or a misspelt name; the loop goes on
//		}
//		if v, err := load.Value(); err == nil {
//			fmt.Printf("%s load %.2f\n", now.Format(time.TimeOnly), v)
//		}
//		for disk, v := range disks.All() {
//			fmt.Printf("  %-8s %.1f MB/s read\n", disk.Name, v)
//		}
//	}
//
// The program needs a collector: the pmcd of PCP, or "go run ./examples/pmcd" in a clone of this
// module. The examples of this package are in the files *example_test.go; a monitor with its main
// function is in monitor_example_test.go. The program examples/pminfo shows which metrics exist:
//
//	pminfo -t disk                             names below disk, with their one-line help
//	pminfo -df disk.dev.read_bytes             type, units, instances and values
//	pminfo --labels disk.dev.read_bytes        labels, for Where
//
// # Groups
//
// A [Group] fetches several metrics in one exchange and converts their values to Go types.
// Most programs need nothing else.
//
//   - [Add] adds one value: a metric without instances, or one [Instance]
//   - [AddSet] adds all instances of a metric, or those whose labels match [Where]
//   - [AddTree] adds all metrics below a name such as "disk.dev", and follows names that appear
//     and disappear
//   - [AddFields] adds the metrics in the tags of a struct, such as
//     `pcp:"kernel.all.load[1 minute]"`
//   - [AddEvents] adds a field of event records; [Context.Events] yields whole records
//
// [Group.Every] fetches at an interval, and [Group.Fetch] once. An [Item] has the methods Value,
// Err, Name, Desc, Units, Labels and Time. Remove removes an item from its group.
//
// A value becomes an int32, uint32, int64, uint64, float32, float64, string or []byte, or a type
// defined as one of these, such as time.Duration. The types int and uint are not allowed because
// their size varies.
//
// # Rates and units
//
// The value of a counter is its rate per second. It is the average since the sample before, so
// the first sample has no rate. [Scale] converts values and rates to other units, with Kbyte,
// Mbyte and so on as powers of 1024:
//
//	pmapi.Scale("Kbyte/second")    of a counter of bytes
//	pmapi.Scale("count/minute")    of a counter of events
//	pmapi.Scale("%")               of a counter of time, such as kernel.percpu.cpu.user
//	pmapi.Scale("instant")         the counter itself
//
// The rate of a counter of time is a fraction of time, so 100 % is one CPU that is always busy.
// The metric kernel.all.cpu.user adds up all CPUs: divide it by hinv.ncpu to get the percentage of
// the machine. An item of type time.Duration needs no Scale: a metric of time becomes a duration
// in any unit.
//
// # Missing values
//
// Each item has its own error, and the other items keep their values.
//
//   - A misspelt name or a missing instance is an error of its item. [Group.Err] joins these
//     errors. The item gets values once the metric or the instance exists.
//   - A metric that fails in its agent, and a rate at its first sample, have an error in their
//     item only: Value and Err return it.
//   - The Err of a [Set] is the error of the whole metric. Set.At returns the error of one
//     instance.
//   - The error of Every is that of the whole fetch. The loop continues after it.
//
// # Lost connections
//
// With Dialer.AutoReconnect a program may start before its collector, and it reconnects when a lost
// collector is back. The pauses between attempts are 1, 2 and 5 seconds, and then 10 seconds,
// unless Dialer.Backoff is set. Requests without a connection fail with pdu.ErrIPC. The first fetch
// on a new connection fails with a [*Gap], which lists what changed in the meantime. The rates
// start again after it.
//
// # Changes
//
// Agents come and go, and new versions of programs export other metrics. A collector reports such
// changes with the next fetch ([pdu.Result].Changed). Groups, derived metrics, the exporters, the
// gateway, the logger, pmrep, pmval, pmstat, pmclient, pmtop and the pcp-* tools treat them alike:
//
//   - Names and agents: all names are looked up again. The value of a metric whose type, unit or
//     PMID has changed may be missing once, but is not taken for that of another metric.
//   - Units: a value with a [Scale] stays in its unit. pmrep converts to the units of its header,
//     pmval prints a new header, and pmtop shows the new unit. An archive describes a metric once,
//     so the logger leaves out a metric that has changed, or begins another archive. Archives that
//     describe a metric differently cannot be opened as one: the error is pdu.ErrLogChangeType,
//     pdu.ErrLogChangeUnits and so on.
//   - Instances: the names of new instances are looked up when they first have values. Labels of
//     instances are recorded with their first values.
//   - Labels: a change of labels is in effect from the fetch that reports it.
//   - Counters: there is no rate when a counter has decreased, and none across a gap.
//   - Clock: there is no rate when no time has passed or the clock was set back. The logger leaves
//     values out until the clock is past its last record. A clock that jumps forward is like a long
//     interval.
//
// A program that calls [Context.Fetch] itself checks Result.Changed with [pdu.Change.AffectsNames].
//
// # Archives
//
// [Open] reads the archives that pmlogger records, and so does [Dialer.OpenSource] for a path that
// is absolute or begins with a dot. A path is a base name, any file of an archive, or a directory
// of archives, which are read as one. Programs for a collector need no change: Group.Every uses
// the time of the archive and does not wait.
//
//	c, err := pmapi.Open(ctx, "/var/log/pcp/pmlogger/web1")
//	…
//	for now, err := range g.Every(ctx, time.Minute) // one row for each recorded minute
//
// A rate is the average over the interval; other values are those at the time of the row. An item
// has no value before the first record of its metric, after the last one, nor across a gap in the
// recording.
//
// [Context.SetMode] sets the position and the direction, and selects recorded or interpolated
// values. [Context.ArchiveLabel] has the start, the host and the time zone of the archive, which
// tool.LoadZone turns into a time.Location. The following calls put the rows on full minutes:
//
//	start := label.Start.Truncate(time.Minute).Add(time.Minute)
//	err = c.SetMode(ctx, pmapi.ModeInterp, start, 0)
//
// [ArchiveOptions] opens archives in a zip file or an object store, through the fs.FS in its
// field Files.
//
// # Columns
//
// [Group.Columns] returns all rows at once, to compute with them or to plot them: the times, and a
// []float64 for each item and each instance of a set. NaN stands for a missing value. If a metric
// does not exist, its item has a column of NaN and its set has no column; Group.Err has the error.
//
//	times, columns, err := g.Columns(ctx, time.Minute, time.Time{}) // to the end of the archive
//	load := columns[0].Values                                       // at times
//
// # Many hosts
//
// A [Fleet] fetches the same metrics from many hosts at the same time.
//
//	type host struct{ load *pmapi.Item[float64] }
//	f := &pmapi.Fleet[host]{Items: func(g *pmapi.Group) host {
//		return host{load: pmapi.Add[float64](g, "kernel.all.load", pmapi.Instance("1 minute"))}
//	}}
//	if err := f.Add("web1", "web2", "db1:44322"); err != nil {
//		return err
//	}
//	for tick := range f.Every(ctx, time.Second) {
//		for r := range tick.Up() {
//			load, err := r.Items.load.Value()
//			fmt.Println(tick.Time.Format(time.TimeOnly), r.Host, load, err)
//		}
//		for _, r := range tick.Rows {
//			if r.Status.State != pmapi.HostUp {
//				fmt.Println(r.Host, r.Status.State, r.Status.Since, r.Status.Err)
//			}
//		}
//	}
//
// All rows of a tick have the same time, by the clock of this computer. The Time of a row is the
// time of its values; print it for an archive. A host that is down or slow never delays the others:
// the [HostStatus] in its row says what is wrong, and since when. The fleet connects to it again
// automatically; Dialer.Backoff says how often it tries. When the host is back, its row has the
// state HostUp again.
//
// A reply that arrives after Fleet.Wait is dropped and never counts for the next tick. Hosts may
// be added and removed while the loop runs. A fleet of 500 hosts at one second takes about 2 % of
// a CPU and 30 MB. The program examples/fleet is a whole monitor of many hosts.
//
// # Derived metrics
//
// A derived metric is an expression in PCP's language. The client computes it from other metrics
// that it fetches. [Derived] describes its operators and functions.
//
//	d := new(pmapi.Derived)
//	err := errors.Join(
//		d.Define("my.busy", "100 * (1 - rate(kernel.all.cpu.idle) / hinv.ncpu)"), // percent
//		d.Define("my.bytes", "network.interface.in.bytes + network.interface.out.bytes"))
//	c, err := (&pmapi.Dialer{Derived: d}).Dial(ctx, "localhost")
//
// The field Derived of a Dialer or of ArchiveOptions holds the definitions for all contexts that it
// opens, and those of a fleet are in Fleet.Dialer. [Context.Derive] defines a metric for one
// context. [Derived.Load] reads definitions from files, and [Derived.LoadEnv] reads those that
// PCP's tools read.
//
//   - A mistake in the syntax is an error of Define.
//   - A mistake that depends on the metrics, such as a sum of bytes and seconds, is an error of
//     Context.Derive or of the item. The error says which part of the expression is wrong.
//   - At the first sample, an expression with rate or delta has the error pdu.ErrValue,
//     "Missing metric value(s)".
//   - An expression names metrics of the source, not other derived metrics.
//
// # Agents in the same process
//
// Package pmapi/local opens a context on agents, without a collector: a fetch is a call of a
// function. [Local] opens a context on a collector in the same process, without a socket.
//
// # Tests
//
// Package pmapi/pmapitest makes sources of metrics for tests of programs that use this package.
// The test controls the values, the faults and the time, for one host or for a fleet.
//
// # Requests without a group
//
// A [Context] gives access to one source of metrics. Each of its methods makes one request, or
// sends a few together:
//
//   - names: Lookup, Names, Children, Traverse
//   - descriptions: Desc, Text, Labels
//   - instance domains: Instances, InstID, InstName
//   - values: Fetch, Store, StoreResult
//
// A context caches nothing, because names, descriptors and instances may change at any time. A
// profile (AddProfile, DelProfile, SetProfile) limits the instances that Fetch returns.
// c.Store(ctx, "cache.limit", 500) sets the value of a metric that its agent allows to be set.
//
// A program without a group finds values by the position of the metric in its list. The program
// examples/pmgenmap makes a constant for each position, as PCP's pmgenmap makes C macros.
//
// A [Dialer] holds the options of connections, such as time-outs, ports, certificates and name
// spaces. [DialerFromEnv], [ArchiveOptionsFromEnv] and [Derived.LoadEnv] read the
// environment variables that the C library reads. Nothing else in this package reads the
// environment.
//
// Package pmapi/tool parses the standard options of PCP's command-line tools.
//
// # Sources
//
// A source is a host, archives, or a source of package pmapitest. [Dial] connects to the collector
// of a host by a socket, and [Local] in memory. Agents of package local are like a host, with the
// exceptions in its documentation. Contexts and groups work in the same way on every source, with
// these differences:
//
//	           a host                    archives                a source of pmapitest
//	Time       of this computer          of the records          of the test
//	Metadata   of the present            as of the position      of the present
//	Reconnect  makes a new connection    reads appended records  fails while the test breaks it
//	HostName   value of pmcd.hostname    host in the label       set by the test
//	Dup        has a new connection      has its own position    has a new connection
//	Store      is sent to the agents     is pdu.ErrNotHost       changes the value
//	End        none                      ends Group.Every        ends Group.Every, if set
//
// On every source the metrics event.flags and event.missed have names, descriptors and help texts,
// but no values. They stand for the flags of event records and for missed records.
//
// # Errors
//
// A failed request returns an [*OpError], which names the operation, the source and the item. It
// wraps a pdu.Error, the code on the wire: test it with errors.Is(err, pdu.ErrName), or get it with
// pdu.FromError(err). When a context.Context ends a request, the error wraps the cause of that
// context instead. A mistake in a text, such as an interval, is a [*SpecError].
//
// Methods for several items, such as Lookup for names, return a result for each item. If some
// items fail, the other results are valid, and the error is a [*BulkError] with the reasons;
// [ErrorAt] returns the error of one item. If the whole request fails, there are no results, and
// the error has another type.
//
// # Concurrency
//
// A Context is safe for concurrent use, and so are a Dialer, a Derived and a Fleet after their
// fields are set. A Group is for one goroutine at a time.
//
// # The C names
//
// The tables list all public functions of the C library libpcp of PCP 6.0.3 and their counterparts.
// Names without a package are in this one; tool is package pmapi/tool. A name stands for its
// variants as well: pmFetch for pmFetchHighRes, pmIDStr for pmIDStr_r.
//
//	Contexts
//	pmNewContext                             Dial, Dialer.Dial, Dialer.OpenSource;
//	                                         Open, ArchiveOptions.Open
//	pmDestroyContext                         Context.Close
//	pmDupContext, pmReconnectContext         Context.Dup, Context.Reconnect
//	pmUseContext, pmWhichContext             none: a Context is a value
//	pmGetContextHostName, pmGetHostName      Context.HostName
//	pmSetMode, pmSetModeHighRes              Context.SetMode, Context.Mode
//	pmGetArchiveLabel, pmGetHighResArchiveLabel
//	                                         Context.ArchiveLabel
//	pmGetArchiveEnd, pmGetHighResArchiveEnd  Context.ArchiveEnd
//	pmAddProfile, pmDelProfile               Context.AddProfile, Context.DelProfile,
//	                                         Context.SetProfile
//	PM_CONTEXT_LOCAL, pmSpecLocalPMDA        package local: Open, Table.Edit
//	pmDiscoverServices                       none
//
//	Names
//	pmLookupName                             Context.Lookup
//	pmNameID, pmNameAll                      Context.Name, Context.Names
//	pmGetChildren, pmGetChildrenStatus       Context.Children
//	pmTraversePMNS                           Context.Traverse
//	pmGetPMNSLocation                        none: it is where the Dialer or the archive says
//	pmLoadNameSpace, pmLoadASCIINameSpace    pmns.Loader.Load, for Dialer.Names
//	pmUnloadNameSpace                        none: a pmns.Tree is a value
//	pmTrimNameSpace                          ArchiveOptions.TrimNames
//	pmIDStr, pmInDomStr                      String of pdu.PMID and pdu.InDom;
//	                                         pdu.ParsePMID, pdu.ParseInDom
//	pmID_build, pmID_domain, pmID_cluster, pmID_item
//	                                         pdu.MakePMID, methods of pdu.PMID
//	pmInDom_build, pmInDom_domain, pmInDom_serial
//	                                         pdu.MakeInDom, methods of pdu.InDom
//
//	Metadata
//	pmLookupDesc, pmLookupDescs              Context.Desc, Context.Descs
//	pmPrintDesc                              none: it is the layout of a few tools
//	pmTypeStr, pmSemStr                      String of pdu.Type and pdu.Sem
//	pmLookupText, pmLookupInDomText          Context.Text, Context.InDomText
//	pmGetInDom                               Context.Instances
//	pmLookupInDom, pmNameInDom               Context.InstID, Context.InstName
//	pmGetInDomArchive, pmLookupInDomArchive, pmNameInDomArchive
//	                                         Context.InstancesEver, InstIDEver, InstNameEver
//	pmLookupLabels, pmGetContextLabels, pmGetDomainLabels, pmGetInDomLabels, pmGetClusterLabels,
//	pmGetItemLabels, pmGetInstancesLabels    Context.Labels, ContextLabels, DomainLabels,
//	                                         InDomLabels, ClusterLabels, ItemLabels,
//	                                         InstanceLabels, MetricLabels
//	pmMergeLabels, pmMergeLabelSets          pdu.MergeLabels
//	pmPrintLabelSets                         none: it is the layout of a few tools
//
//	Values
//	pmFetch, pmHighResFetch                  Context.Fetch
//	pmFetchArchive, pmFetchHighResArchive    Context.FetchArchive
//	pmStore                                  Context.StoreResult, Context.Store
//	pmSortInstances, pmSortHighResInstances  pdu.Result.SortInstances
//	pmExtractValue                           pdu.As; pdu.ValueSet.Atom
//	pmAtomStr, pmPrintValue                  pdu.Atom.String, pdu.ValueFormat
//	pmNumberStr                              pdu.FormatNumber
//	pmConvScale                              pdu.Atom.ConvertUnits
//	pmUnitsStr, pmParseUnitsStr              pdu.Units.String, pdu.ParseUnits
//	pmUnpackEventRecords, pmUnpackHighResEventRecords
//	                                         Context.Events, pdu.Atom.Events,
//	                                         pdu.EventRecord.Values
//	pmEventFlagsStr                          String of pdu.EventFlags
//	event.flags, event.missed                pdu.EventFlagsPMID, pdu.EventMissedPMID:
//	                                         every context has them
//
//	Fetch groups
//	pmCreateFetchGroup, pmClearFetchGroup    Context.Group
//	pmDestroyFetchGroup                      none: a Group holds nothing open
//	pmGetFetchGroupContext                   none: the Context is the caller's
//	pmExtendFetchGroup_item, pmExtendFetchGroup_indom
//	                                         Add, AddSet
//	pmExtendFetchGroup_event                 AddEvents
//	pmExtendFetchGroup_timestamp, pmExtendFetchGroup_timeval, pmExtendFetchGroup_timespec
//	                                         the time that Group.Fetch returns
//	pmFetchGroup                             Group.Fetch, Group.Every, Group.Columns
//
//	Derived metrics
//	pmRegisterDerived, pmLoadDerivedConfig   Derived.Define, Derived.Load, Derived.LoadEnv
//	pmAddDerived                             Context.Derive
//	pmDerivedErrStr                          DerivedError
//	pmSetDerivedControl                      Derived.LoadEnv
//	pmGetDerivedControl                      none
//
//	Time
//	pmParseInterval, pmParseHighResInterval  ParseInterval
//	pmParseTimeWindow, pmParseHighResTimeWindow
//	                                         WindowSpec.Window
//	pmNewZone, pmNewContextZone              tool.LoadZone, tool.HostZone
//	pmUseZone, pmWhichZone, pmLocaltime      none: time.Time.In of a time.Location
//	pmCtime, pmPrintStamp, pmPrintHighResStamp
//	                                         time.Time.Format
//	pmtimevalNow, pmtimevalAdd, pmtimevalSub, pmtimevalInc, pmtimevalDec, pmtimevalToReal,
//	pmtimevalFromReal, pmtimespecNow, pmtimespecAdd, pmtimespecSub, pmtimespecInc,
//	pmtimespecDec, pmtimespecToReal, pmtimespecFromReal
//	                                         package time
//
//	Configuration and command lines
//	pmGetConfig, pmGetOptionalConfig         none: functions of this package read what they need
//	pmGetAPIConfig, pmGetVersion             none: there is one build; the option --version prints
//	                                         it, and debug.ReadBuildInfo has the module version
//	pmGetOptions, pmGetContextOptions        tool.Command.Parse, tool.Command.Open,
//	                                         tool.Command.Window
//	pmgetopt_r, pmFreeOptions, pmUsageMessage   tool.Option, tool.Command.Report
//	pmParseMetricSpec                        ParseMetricSpec
//	pmSetDebug, pmClearDebug, pmDebug, pmDebugOptions
//	                                         none: Dialer.Logger logs to package log/slog
//	pmSetProgname, pmGetProgname, pmProgname tool.Command.Name
//	__pmParseHostSpec, __pmParseHostAttrs    Dialer.Dial
//
//	Messages and the rest
//	pmErrStr                                 Error of pdu.Error
//	pmprintf, pmflush                        tool.Command.Report
//	pmNotifyErr, pmSyslog, pmOpenLog         package log/slog; pmda.Main and examples/pmcd
//	                                         log in the form of PCP
//	pmGetUsername, pmSetProcessIdentity      package os/user; examples/pmcd has -U
//	pmPathSeparator                          package path/filepath
//	pmsprintf, pmstrncpy, pmstrncat, pmstrlen, pmfstring
//	                                         packages fmt, strings, bufio
//	pmNoMem                                  none
//	pmFreeResult, pmFreeHighResResult, pmFreeEventResult, pmFreeHighResEventResult,
//	pmFreeLabelSets, pmFreeMetricSpec        none: memory is collected
package pmapi
