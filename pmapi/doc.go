// Package pmapi is the client side of Performance Co-Pilot: it reads metrics from
// collectors, in other processes and in this one, and from archives.
//
//	c, err := pmapi.Dial(ctx, "web1.example.com")
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	g := c.Group()
//	load := pmapi.Add[float64](g, "kernel.all.load", pmapi.Instance("1 minute"))
//	for now, err := range g.Every(ctx, time.Second) {
//		if err != nil {
//			return err
//		}
//		if v, err := load.Value(); err == nil {
//			fmt.Println(now, v)
//		}
//	}
//
// # Groups
//
// A Group fetches metrics together, by their names, and converts their values: counters
// to rates, units to other units, all to Go types. Most programs need nothing else. What is
// wrong with one of them, a name that is misspelt, say, does not keep the others from their
// values: it is the error of its item, and in Group.Err.
//
// Add adds one value, AddSet those of all instances, or of those that Where selects by their labels, AddTree all metrics below a
// name, AddEvents a field of event records, and AddFields what the tags of a struct name. Context.Events yields event records as
// they come.
//
// # Fleets
//
// A Fleet fetches the same metrics from many hosts at the same time. Its ticks have a row for each host, with the values or what
// is wrong with the host, which never holds up the others.
//
// # Contexts
//
// A Context is access to one source of metrics. Each of its methods is one request, or a
// few that are sent together: for names (Lookup, Names, Children, Traverse), descriptions
// of metrics (Desc, Text, Labels), instance domains (Instances, InstID, InstName) and values
// (Fetch, Store, StoreResult). Nothing is cached: names, descriptors and instances may change at any
// time. A profile (AddProfile, DelProfile, SetProfile) limits the instances that Fetch
// returns.
//
// A Dialer holds the options of connections: time-outs, ports, a name space of one's own,
// and whether contexts connect again by themselves (AutoReconnect). DialerFromEnv makes
// one from the environment variables that the C library reads. Nothing else in this package
// looks at the environment.
//
// # Sources
//
// A context reads from a source. A host is the usual one: a collector that the context
// is connected to by a socket (Dial) or in memory (Local). Open reads archives, and
// Dialer.OpenSource opens one or the other. Package local calls agents in this process, without a
// collector: such a source is as a host, but for what its documentation says. Package pmapitest makes
// sources of another kind, without a collector, for tests. A context and its groups work
// alike on any source; these depend on it:
//
//	            a host                        archives                 a source of pmapitest
//	Time        of this computer              of the records           the test's
//	Metadata    of the present                as of the position       of the present
//	Reconnect   makes another connection      reads what is appended   as of a host, unless the test has broken it
//	HostName    what pmcd.hostname says       what the label says      what the test says
//	Dup         has a connection of its own   has its own position     has a connection of its own
//	Store       is sent to the agents         is pdu.ErrNotHost        changes the value
//	End of data none                          ends Group.Every         ends it, too, if the test sets it
//
// On every source, event.flags and event.missed, the metrics that stand for the flags of
// event records and for missed ones, have names, descriptors and help texts, but no values.
//
// # Derived metrics
//
// Metrics that are computed from others, as Derived describes them, are defined for one context by
// Context.Derive, or for all of a Dialer or of ArchiveOptions by their field Derived.
//
// # Errors
//
// Errors are *OpErrors, which say what was done, where and on what, and wrap a pdu.Error,
// the code on the wire: test it with errors.Is(err, pdu.ErrName), or get it with
// pdu.FromError(err). When a context.Context ends a request, its cause is wrapped
// instead.
//
// Methods for several items, as Lookup is for names, return a result for each item. If
// some items have failed, the results of the others are good, and the error is a *BulkError
// with the reasons; ErrorAt returns that of one item. If the request as a whole has failed,
// there are no results, and the error is of another type.
//
// # Concurrency
//
// A Context, and a Dialer or a Fleet once it is filled in, are safe for concurrent use. A Group is for
// one goroutine at a time.
//
// # The C names
//
// All functions of the C library libpcp of PCP 6.0.3 that programs may call, and what takes their place. Names without a package
// are of this one; tool is package pmapi/tool. A name stands for its variants as well: pmFetch for pmFetchHighRes, pmIDStr for
// pmIDStr_r.
//
//	Contexts
//	pmNewContext                             Dial, Dialer.Dial, Dialer.OpenSource; Open, ArchiveOptions.Open
//	pmDestroyContext                         Context.Close
//	pmDupContext, pmReconnectContext         Context.Dup, Context.Reconnect
//	pmUseContext, pmWhichContext             none: a Context is a value
//	pmGetContextHostName, pmGetHostName      Context.HostName
//	pmSetMode, pmSetModeHighRes              Context.SetMode, Context.Mode
//	pmGetArchiveLabel, pmGetHighResArchiveLabel   Context.ArchiveLabel
//	pmGetArchiveEnd, pmGetHighResArchiveEnd  Context.ArchiveEnd
//	pmAddProfile, pmDelProfile               Context.AddProfile, Context.DelProfile, Context.SetProfile
//	PM_CONTEXT_LOCAL, pmSpecLocalPMDA        package local: Open, Table.Edit
//	pmDiscoverServices                       none
//
//	Names
//	pmLookupName                             Context.Lookup
//	pmNameID, pmNameAll                      Context.Name, Context.Names
//	pmGetChildren, pmGetChildrenStatus       Context.Children
//	pmTraversePMNS                           Context.Traverse
//	pmGetPMNSLocation                        Context.NamesLocation
//	pmLoadNameSpace, pmLoadASCIINameSpace    pmns.Loader.Load, for Dialer.Names
//	pmUnloadNameSpace                        none: a pmns.Tree is a value
//	pmTrimNameSpace                          ArchiveOptions.TrimNames
//	pmIDStr, pmInDomStr                      String of pdu.PMID and pdu.InDom; pdu.ParsePMID, pdu.ParseInDom
//	pmID_build, pmID_domain, pmID_cluster, pmID_item   pdu.MakePMID, methods of pdu.PMID
//	pmInDom_build, pmInDom_domain, pmInDom_serial      pdu.MakeInDom, methods of pdu.InDom
//
//	Metadata
//	pmLookupDesc, pmLookupDescs              Context.Desc, Context.Descs
//	pmPrintDesc                              tool.TypeText, tool.SemanticsText
//	pmTypeStr, pmSemStr                      String of pdu.Type and pdu.Sem
//	pmLookupText, pmLookupInDomText          Context.Text, Context.InDomText
//	pmGetInDom                               Context.Instances
//	pmLookupInDom, pmNameInDom               Context.InstID, Context.InstName
//	pmGetInDomArchive, pmLookupInDomArchive, pmNameInDomArchive   Context.InstancesEver, InstIDEver, InstNameEver
//	pmLookupLabels, pmGetContextLabels, pmGetDomainLabels, pmGetInDomLabels, pmGetClusterLabels,
//	pmGetItemLabels, pmGetInstancesLabels    Context.Labels and its companions, Context.MetricLabels
//	pmMergeLabels, pmMergeLabelSets          pdu.MergeLabels
//	pmPrintLabelSets                         none: it is the layout of a few tools
//
//	Values
//	pmFetch, pmHighResFetch                  Context.Fetch
//	pmFetchArchive, pmFetchHighResArchive    Context.FetchArchive
//	pmStore                                  Context.StoreResult, Context.Store
//	pmSortInstances, pmSortHighResInstances  pdu.Result.SortInstances
//	pmExtractValue                           pdu.As; pdu.ValueSet.Atom
//	pmAtomStr, pmPrintValue                  pdu.Atom.String, pdu.ValueFormat; tool.Column for those of pmval
//	pmNumberStr                              pdu.FormatNumber
//	pmConvScale                              pdu.Atom.ConvertUnits
//	pmUnitsStr, pmParseUnitsStr              pdu.Units.String, pdu.ParseUnits
//	pmUnpackEventRecords, pmUnpackHighResEventRecords   Context.Events, pdu.Atom.Events, pdu.EventRecord.Values
//	pmEventFlagsStr                          String of pdu.EventFlags
//	event.flags, event.missed                pdu.EventFlagsPMID, pdu.EventMissedPMID: every context has them
//
//	Fetch groups
//	pmCreateFetchGroup, pmClearFetchGroup    Context.Group
//	pmDestroyFetchGroup                      none: a Group holds nothing open
//	pmGetFetchGroupContext                   none: the Context is the caller's
//	pmExtendFetchGroup_item, pmExtendFetchGroup_indom   Add, AddSet
//	pmExtendFetchGroup_event                 AddEvents
//	pmExtendFetchGroup_timestamp, pmExtendFetchGroup_timeval, pmExtendFetchGroup_timespec   what Group.Fetch returns
//	pmFetchGroup                             Group.Fetch, Group.Every, Group.Columns
//
//	Derived metrics
//	pmRegisterDerived, pmLoadDerivedConfig   Derived.Define, Derived.Load, DerivedFromEnv
//	pmAddDerived                             Context.Derive
//	pmDerivedErrStr                          DerivedError
//	pmSetDerivedControl                      Derived.Control
//	pmGetDerivedControl                      none
//
//	Time
//	pmParseInterval, pmParseHighResInterval  ParseInterval
//	pmParseTimeWindow, pmParseHighResTimeWindow   WindowSpec.Window
//	pmNewZone, pmNewContextZone              tool.LoadZone, tool.Command.SetTimes
//	pmUseZone, pmWhichZone, pmLocaltime      none: time.Time.In of a time.Location
//	pmCtime, pmPrintStamp, pmPrintHighResStamp   time.Time.Format; tool.CtimeLayout and other layouts
//	pmtimevalNow, pmtimevalAdd, pmtimevalSub, pmtimevalInc, pmtimevalDec, pmtimevalToReal, pmtimevalFromReal,
//	pmtimespecNow, pmtimespecAdd, pmtimespecSub, pmtimespecInc, pmtimespecDec, pmtimespecToReal, pmtimespecFromReal
//	                                         package time; tool.Elapsed
//
//	Configuration and command lines
//	pmGetConfig, pmGetOptionalConfig         tool.Config
//	pmGetAPIConfig, pmGetVersion             none: there is one build, whose module version debug.ReadBuildInfo has
//	pmGetOptions, pmGetContextOptions        tool.Command.Parse, tool.Command.Open, tool.Command.SetTimes
//	pmgetopt_r, pmFreeOptions, pmUsageMessage   tool.Option, tool.Command.Usage
//	pmParseMetricSpec                        ParseMetricSpec
//	pmSetDebug, pmClearDebug, pmDebug, pmDebugOptions   tool.Command.Debug
//	pmSetProgname, pmGetProgname, pmProgname tool.Command.Name
//	__pmParseHostSpec, __pmParseHostAttrs    ParseHost
//
//	Messages and the rest
//	pmErrStr                                 Error of pdu.Error
//	pmprintf, pmflush                        tool.Command.Report
//	pmNotifyErr, pmSyslog, pmOpenLog         package log/slog; pmda.Main and examples/pmcd log in PCP's form
//	pmGetUsername, pmSetProcessIdentity      package os/user; examples/pmcd has -U
//	pmPathSeparator                          package path/filepath
//	pmsprintf, pmstrncpy, pmstrncat, pmstrlen, pmfstring   packages fmt, strings, bufio
//	pmNoMem                                  none
//	pmFreeResult, pmFreeHighResResult, pmFreeEventResult, pmFreeHighResEventResult, pmFreeLabelSets,
//	pmFreeMetricSpec                         none: memory is collected
package pmapi
