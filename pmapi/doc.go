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
// Dialer.OpenSource opens one or the other. Package pmapitest makes
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
// A Context, and a Dialer once it is filled in, are safe for concurrent use. A Group is for
// one goroutine at a time.
//
// # The C names
//
//	pmNewContext, pmDestroyContext         Dial, Dialer.Dial, Context.Close
//	pmDupContext, pmReconnectContext       Context.Dup, Context.Reconnect
//	pmGetContextHostName                   Context.HostName
//	PM_CONTEXT_ARCHIVE                     Open, ArchiveOptions.Open
//	pmSetMode, pmSetModeHighRes            Context.SetMode, Context.Mode
//	pmFetchArchive                         Context.FetchArchive
//	pmGetArchiveLabel, pmGetArchiveEnd     Context.ArchiveLabel, Context.ArchiveEnd
//	pmGetInDomArchive, pm…InDomArchive     Context.InstancesEver, Context.InstIDEver, Context.InstNameEver
//	pmLookupName                           Context.Lookup
//	pmNameID, pmNameAll                    Context.Name, Context.Names
//	pmGetChildren, pmGetChildrenStatus     Context.Children
//	pmTraversePMNS                         Context.Traverse
//	pmGetPMNSLocation, pmLoadNameSpace     Context.NamesLocation, Dialer.Names
//	pmLookupDesc, pmLookupDescs            Context.Desc, Context.Descs
//	pmGetInDom                             Context.Instances
//	pmLookupInDom, pmNameInDom             Context.InstID, Context.InstName
//	pmLookupText, pmLookupInDomText        Context.Text, Context.InDomText
//	pmLookupLabels, pmGet…Labels           Context.Labels, …
//	pmAddProfile, pmDelProfile             Context.AddProfile, Context.DelProfile
//	pmFetch, pmFetchHighRes                Context.Fetch
//	pmStore                                Context.StoreResult, Context.Store
//	pmRegisterDerived, pmLoadDerivedConfig Derived.Define, Derived.Load, DerivedFromEnv
//	pmAddDerived, pmAddDerivedMetric       Context.Derive
//	event.flags, event.missed              pdu.EventFlagsPMID, pdu.EventMissedPMID: every context has them
//	pmExtractValue, pmMergeLabelSets       pdu.As, pdu.MergeLabels
//	pmConvScale, pmPrintValue, pmNumberStr pdu.Atom.ConvertUnits, pdu.ValueFormat, pdu.FormatNumber
//	pmCreateFetchGroup, pmClearFetchGroup  Context.Group
//	pmExtendFetchGroup_item, …_indom       Add, AddSet
//	pmExtendFetchGroup_event               AddEvents
//	pmFetchGroup, …_timestamp              Group.Fetch, Group.Every, Group.Columns
//	pmParseMetricSpec, pmParseInterval     ParseMetricSpec, ParseInterval
//	pmParseTimeWindow                      WindowSpec.Window
package pmapi
