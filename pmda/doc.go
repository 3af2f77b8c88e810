// Package pmda makes agents: programs, or parts of programs, that export metrics
// to a collector of Performance Co-Pilot. PCP calls them PMDAs, performance
// metrics domain agents.
//
//	func main() {
//		a := &pmda.Agent{Name: "cache", Domain: 400}
//		shards := a.AddInDom("shard", "red", "blue")
//		pmda.Register(a, pmda.Metric[uint64]{
//			Name:  "cache.hits",
//			Text:  "Lookups served from memory",
//			Sem:   pdu.SemCounter,
//			Units: pdu.UnitCount,
//			InDom: shards,
//			Value: func(ctx context.Context, r *pmda.Request, i pdu.Instance) (uint64, error) {
//				return hits[i.ID].Load(), nil
//			},
//		})
//		pmda.Main(a)
//	}
//
// An [Agent] has tables of metrics and instance domains, from which it replies to
// every request of a collector: for descriptors, names, instances, help texts,
// labels and values, and to store values. The results of Register and AddInDom may
// be ignored: [Agent.Err] has the first error, and Main and collectors refuse an
// agent that has one.
//
// # A program of its own, or a part of one
//
// [Main] makes a program of an agent, with the options of PCP's agents. A collector
// starts the program, or it listens on a socket; it can also install itself into a
// PCP. [Serve] runs an agent on one connection, [ServeListener] on those that come to a
// socket, one after the other. A collector in the same program
// uses the same Agent without a changed line: see the package
// [github.com/pcp-go/pcp/pmda/collector]. All of them need only a [Handler], the
// interface that Agent implements. A type that embeds [Unimplemented] is a Handler
// without tables. The package [github.com/pcp-go/pcp/pmda/remote] has the Handler
// of an agent in another process.
//
// # Values
//
// The type parameter of [Register] is the type of the values, from int32 to
// string and []byte, named types included. A [Metric] has a function Value, which
// returns the value of one instance, or a function Values, which puts the values of
// all instances into a [Values]. Value is not called for instances that the
// client's profile excludes.
//
// [NoValue] as the error means that there is no value now. Any other error leaves
// the instance out too, and the client gets it if no instance has a value: a
// [pdu.Error] such as pdu.ErrAgain or pdu.ErrAppVersion as it is, an errno as its
// number. Other errors are logged, once for as long as they stay the same. A panic
// fails its own metric and is logged too.
//
// # Events
//
// An [EventQueue] keeps events until all clients have fetched them, each client once, and
// tells those that are too slow how many they have missed. [RegisterParam] registers the
// parameters of the events:
//
//	requests := a.NewEventQueue()
//	pmda.Register(a, pmda.Metric[[]byte]{Name: "web.requests", Type: pdu.TypeEvent, Values: requests.Values})
//	path := pmda.RegisterParam(a, pmda.Metric[string]{Name: "web.request.path"})
//	...
//	requests.Append(time.Now(), pdu.EventPoint, path.Of("/index.html"))
//
// An agent without a queue returns an event array as a []byte, which pdu.EventBuilder
// makes; [EventParam.PMID] has the PMIDs of its parameters.
//
// # Instances that come and go
//
// [InDom.SetNames] replaces the instances by name; a name has the same ID whenever
// it comes back. A [Cache] has values of the program with the instances, which come
// and go one by one, and can be loaded and saved. With [InDom.SetInstances] the program
// chooses the IDs. Call them when something changes, or from the domain's Refresh, which
// runs before the instances are used. Names that come from elsewhere, such as those of devices, are
// checked with [ValidInstanceName] first.
//
// # Groups
//
// A [Group] reads what several metrics have in common once per fetch, before the
// first value:
//
//	disks := &pmda.InDom{Name: "disk"}
//	disks.Group = a.Group(func(ctx context.Context, r *pmda.Request) error {
//		stats = readDiskStats()
//		_, err := disks.SetNames(slices.Sorted(maps.Keys(stats))...)
//		return err
//	})
//	a.Attach(disks)
//
// Metrics name their Group, or have that of their instance domain. The refresh, the
// values and the stores of a group run under its lock, so that stats needs no
// other.
//
// # Help texts
//
// Metric and InDom have fields for their texts, one of a line and a long one. [Agent.UseHelp]
// takes texts from a file, which may be embedded in the program: the source that
// newhelp(1) compiles, or the pair of files that it makes. The texts of a file come
// before those of the fields.
//
// # Stores and labels
//
// A metric with a Store function lets clients set values; the client gets its
// error. Labels are JSON objects: of the agent (DomainLabels), its clusters,
// instance domains, metrics and instances. [LabelJSON] makes one of a map or a struct,
// [LabelNotes] one of optional labels. [Agent.LabelsOf] has those that change; call
// [Agent.Notify] then.
//
// # Wrapping
//
// A Handler is wrapped by a struct that embeds it and overrides some methods, as in
// net/http. The wrapper works wherever a Handler does:
//
//	type logging struct{ pmda.Handler }
//
//	func (l logging) Store(ctx context.Context, r *pmda.Request, values *pdu.Result) error {
//		err := l.Handler.Store(ctx, r, values)
//		slog.Info("store", "user", r.Client.User, "err", err)
//		return err
//	}
//
//	func (l logging) Unwrap() pmda.Handler { return l.Handler }
//
//	srv.Add(logging{a})
//
// It needs the method Unwrap, through which [As] finds the Agent's log.
//
// [Agent.Use] installs a wrapper in the Agent itself, so that every caller of the Agent
// gets it. Main needs that, as it is given the Agent. Such a wrapper needs no Unwrap,
// and stays as long as the Agent. Wrappers compose: that of the last Use gets a request
// first.
//
// [Agent.OnRequest] and [Agent.OnReply] add functions that are called before and after each
// request, whatever its kind, and [Agent.OnEndClient] ones for the end of a client.
//
// # Not ready
//
// An agent that takes long to begin says so, and clients get pdu.ErrAgain in the meantime:
//
//	a := &pmda.Agent{Name: "big", Domain: 400, StartsNotReady: true}
//	go func() {
//		load()
//		a.SetReady(true)
//	}()
//	pmda.Main(a)
//
// [Agent.SetReady] may also be called later, for a pause.
//
// # Changing metrics while serving
//
// Metrics, instance domains and dynamic roots can be added, removed ([Agent.Remove],
// [Agent.Detach]) and replaced while the agent serves. To replace many at once, fill
// [Tables] and let [Agent.SetTables] swap them. A request works with the tables that
// there were when it began. Clients are told that names have changed with the
// agent's next fetch.
//
// A PMID stays what it was, as far as possible: the agent gives the number of a
// removed metric to another one as late as possible, and gives a metric that
// comes back its old number. See [ItemID].
//
// # Names below a dynamic root
//
// A collector merges the names of its agents once, and again when they have changed. For
// metrics that come and go, [Agent.AddDynamic] names a subtree of which it asks the agent
// each time:
//
//	a.AddDynamic("jobs.run")
//	pmda.Register(a, pmda.Metric[uint64]{Name: "jobs.run.backup.lines", Value: lines})
//	a.Remove("jobs.run.backup.lines")
//
// Each change costs the same however many metrics there are, and all that a client gets with
// one request is of one state. A metric may have more names ([Agent.AddAlias]), and a name
// may lead to a metric of another agent ([Agent.AddLink]). For names that are not known
// before clients ask for them, a wrapper registers them when it is asked, or overrides
// PMID, Names, Children and Traverse, with Desc and Fetch for the metrics below.
//
// # Concurrency
//
// Methods of a Handler are called concurrently, like those of net/http. What the
// functions of an agent share needs a lock, a Group, or [Serial] around the
// Handler. All methods of Agent and InDom may be called at any time, also by
// functions of the agent. These should end soon after their ctx has ended; one
// that hangs keeps only its own agent from replying. Exported fields are set before
// the agent serves.
//
// # Tests
//
// Package [github.com/pcp-go/pcp/pmda/pmdatest] checks that a Handler keeps the
// contract. It needs no collector; an agent in a collector.Server, with pmapi.Local as
// its client, needs no socket: the README has a test of each kind.
//
// # The C names
//
//	pmdaInterface, pmdaExt                 Agent, Handler
//	pmdaDaemon, pmdaDSO, pmdaInit          Agent, Agent.Err
//	pmdaGetOptions, pmdaOpenLog,
//	pmdaConnect, pmdaMain                  Main, Daemon, Serve
//	pmdaMetric, pmDesc                     Metric, Register
//	PMDA_PMID, pmdaSetFetchCallBack        Item, Metric.Value
//	pmdaIndom, pmdaInstid                  InDom, pdu.Instance
//	pmdaCacheStore                         Cache.Add, Cache.Hide, Cache.Cull; InDom.SetNames
//	pmdaCacheStoreKey                      Cache.AddKey
//	pmdaCacheLookup, pmdaCacheLookupName,
//	pmdaCacheLookupKey                     Cache.Lookup, Cache.LookupName, Cache.LookupKey
//	pmdaCachePurge, pmdaCachePurgeCallback Cache.Purge
//	pmdaCacheResize                        Cache.Resize
//	PMDA_CACHE_LOAD, _SAVE, _SYNC          Cache.Load, Cache.Save, Cache.Sync; InDom.File
//	PMDA_CACHE_WALK_REWIND, _WALK_NEXT     Cache.Active, Cache.Inactive
//	PMDA_CACHE_ACTIVE, _INACTIVE, _CULL    Cache.ActivateAll, Cache.HideAll, Cache.CullAll
//	PMDA_CACHE_SIZE_ACTIVE, _SIZE_INACTIVE Cache.Size
//	PMDA_CACHE_REUSE, _REORG, _STRINGS     Cache.Reuse, Cache.Reorg, Cache.Strings
//	pmdaProfile, pmdaFetch, pmdaDesc,
//	pmdaInstance, pmdaText, pmdaStore,
//	pmdaPMID, pmdaName, pmdaChildren,
//	pmdaLabel                              the Handler that Agent.Use passes to a wrapper
//	pmdaOpenHelp, pmdaGetHelp              Agent.UseHelp, package helptext
//	pmdaSetCheckCallBack                   Agent.OnRequest
//	pmdaSetDoneCallBack,
//	pmdaSetResultCallBack                  Agent.OnReply
//	pmdaSetEndContextCallBack              Agent.OnEndClient
//	pmdaSendError(PM_ERR_PMDANOTREADY),
//	pmdaSendError(PM_ERR_PMDAREADY)        Agent.SetReady, Agent.StartsNotReady
//	pmdaSetLabelCallBack                   InDom.InstanceLabels
//	pmdaAddLabels, pmdaAddNotes            LabelJSON, LabelNotes
//	pmdaAttribute                          Handler.SetClient, Request.Client
//	pmdaGetContext                         Request.Client
//	pmdaSetFlags(PMDA_EXT_NAMES_CHANGE)    Agent.Notify
//	a caching PMDA of the guide            Every, Polled
//	pmdaEventNewArray, pmdaEventAddRecord  pdu.EventBuilder
//	pmdaEventNewQueue,
//	pmdaEventNewActiveQueue                Agent.NewEventQueue, EventQueue.KeepAll
//	pmdaEventQueueAppend                   EventQueue.Append
//	pmdaEventQueueRecords                  EventQueue.Values, EventQueue.Put
//	pmdaEventSetFilter, pmdaEventSetAccess EventQueue.SetFilter, EventQueue.SetAccess
//	pmdaEventQueueCounter, Clients, Bytes,
//	Memory                                 EventQueue.Stats
//	pmdaEventQueueShutdown                 EventQueue.Close
//	pmdaEventNewClient, pmdaEventEndClient nothing: queues hear of clients by themselves
//	pmdaTreeCreate, pmdaTreeInsert,
//	pmdaDynamicPMNS, pmdaDynamicSetClusterMask,
//	pmdaDynamicLookupPMID and others       Agent.AddDynamic, Register
package pmda
