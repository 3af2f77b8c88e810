// Package pmda makes agents: programs, or parts of programs, that export metrics to a collector
// of Performance Co-Pilot. PCP calls an agent a PMDA, a performance metrics domain agent.
//
//	var hits = map[string]*atomic.Uint64{"red": {}, "blue": {}}
//
//	func main() {
//		a := &pmda.Agent{Name: "cache", Domain: 400}
//		shards := a.AddInDom("shard", "red", "blue")
//		pmda.Register(a, pmda.Metric[uint64]{
//			Name: "cache.hits", ID: pmda.Item(0, 0), Text: "Lookups served from memory",
//			Sem: pdu.SemCounter, Units: pdu.UnitCount, InDom: shards,
//			Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint64, error) {
//				return hits[i.Name].Load(), nil
//			},
//		})
//		pmda.Main(a)
//	}
//
// With its imports (context, sync/atomic, and the packages pdu and pmda) this is a complete
// agent. An [Agent] has tables of metrics and instance domains, and replies from them to every
// request of a collector: for descriptors, names, instances, help texts, labels and values, and
// to store values. The program may ignore the results of Register and AddInDom: [Agent.Err]
// returns the first error, and Main and collectors refuse an agent that has one.
//
// Archives know a metric by its PMID. Give each metric an ID: without one it gets the next number
// in the order of registration, which changes with the program. The option PMIDs of package
// pmdatest pins all numbers in a test.
//
// Domains 385 to 510 are free for new agents, except 490, which package pmdago uses. A collector
// has at most one agent of a domain.
//
// # Running an agent
//
// For a first try, host the agent in a collector in the same program. It needs no installation.
// Replace the call of Main with these lines, and import context, log, net and the package
// pmda/collector:
//
//	srv := &collector.Server{} // of package pmda/collector
//	if err := srv.Add(a); err != nil {
//		log.Fatal(err)
//	}
//	ln, err := net.Listen("tcp", "localhost:44399")
//	if err != nil {
//		log.Fatal(err)
//	}
//	log.Fatal(srv.Serve(context.Background(), ln))
//
// In the directory of the program:
//
//	go mod init example.com/cache
//	go mod edit -replace github.com/pcp-go/pcp=/path/to/clone    # only to use a clone
//	go mod tidy && go run .
//
// Look at its metrics from another terminal, in the same directory:
//
//	go run github.com/pcp-go/pcp/examples/pminfo -h localhost:44399 -f cache
//
// The same Agent runs in these places without changes:
//
//   - [Main] makes it a program with the options of PCP's agents, for any pmcd. A collector
//     starts the program and talks to it over pipes or a socket.
//   - collector.Server.Add hosts it in a Go program: see the package
//     [github.com/pcp-go/pcp/pmda/collector].
//   - [Serve] serves one connection. [ServeListener] serves the connections that a socket accepts,
//     one after the other.
//
// All but Main accept any [Handler], the interface that Agent implements. A type that embeds
// the Handler of [Unimplemented] needs no tables. [Daemon] is Main with more settings, such as
// further options. To use an agent both in a program and in a collector, put the function that
// makes it into a package that both import.
//
// # Installing under pmcd
//
// A program that calls Main installs itself into PCP. As root:
//
//	go build -o pmdacache .
//	./pmdacache --install=/var/lib/pcp/pmdas/cache # the program and the files that PCP needs
//	cd /var/lib/pcp/pmdas/cache && ./Install
//	pminfo -f cache
//
// The directory must have the name of the agent, here cache, because PCP's scripts derive the name
// from it. If its parent is not PCP's directory of agents (PCP_PMDAS_DIR), --install prints the
// line for pmcd.conf instead of the script to run. If it cannot write all files, it installs none.
// These options help to run an agent:
//
//	--help                  list the options
//	--print=pmns            print the agent's names for a name space file
//	--print=root            print a complete name space file
//	--stay -u PATH          serve one collector after the other on a unix socket
//	-l FILE                 write the log to FILE, "-" for standard error [default NAME.log]
//
// The page examples/pmcd/README.md in the repository shows how to try an agent under a
// collector without installing anything, and how to write its line in pmcd.conf.
//
// # Values
//
// The type parameter of [Register] is the type of the values: int32, uint32, int64, uint64,
// float32, float64, string or []byte, or a type based on one of them. A [Metric] has a function
// Value, which returns the value of one instance, or a function Values, which puts the values of
// all instances into a [Values]. Value is called only for the instances that the client's
// profile includes.
//
// An instance whose Value returns an error is left out of the result. If no instance has a value,
// the client gets the last error as the error of the metric. What happens depends on the error:
//
//   - [NoValue] means that the instance has no value now. That is not a failure: the client gets no
//     error.
//   - The client gets a [pdu.Error] such as pdu.ErrAgain as it is, an errno as its number, and
//     pdu.ErrGeneric for most other errors: see [pdu.FromError].
//   - Errors are logged, once for as long as the text stays the same. The exceptions are NoValue,
//     pdu.ErrValue, ErrAppVersion, ErrPermission, ErrAgain and ErrNYI.
//   - A panic is logged, and the metric fails with pdu.ErrGeneric.
//
// # Instances
//
// [Agent.AddInDom] adds an instance domain: a set of instances that several metrics share. The
// names of its instances must differ before the first space, and must not contain control
// characters. Use "/order::500" rather than "/order 500". [ValidInstanceName] checks a name from
// elsewhere, such as that of a device.
//
// # Instances that come and go
//
// [InDom.SetNames] replaces the instances by name. A name that returns has the ID that it had
// before. Call SetNames when the instances change, or from the function Refresh of the domain,
// which runs before each request that uses the instances:
//
//	jobs := a.AddInDom("job")
//	jobs.Refresh = func(context.Context, *pmda.Request) error {
//		_, err := jobs.SetNames(runningJobs()...)
//		return err
//	}
//
// A [Cache] keeps a value of the program's own type with each instance. Call [Cache.Add] and
// [Cache.Hide] when an instance comes or goes, from any goroutine. Where the program finds all
// instances at once, as in a file of /proc, let Refresh call [Cache.Replace]:
//
//	disks := &pmda.Cache[*disk]{File: "/var/lib/pcp/config/pmda/400.0"}
//	if _, err := disks.Load(); err != nil && !errors.Is(err, fs.ErrNotExist) {
//		log.Print(err)
//	}
//	d := &pmda.InDom{Name: "disk", Cache: disks}
//	d.Refresh = func(context.Context, *pmda.Request) error {
//		return disks.Replace(maps.All(readDisks()))
//	}
//	a.Attach(d)
//
// The function Value of a metric finds the program's value with [Cache.Lookup]. Value returns
// NoValue if the instance has just gone. A hidden instance keeps its ID and its value. Where names
// never return, such as those of jobs, call [Cache.Cull] in place of [Cache.Hide], or now and then
// [Cache.Sync] and [Cache.Purge].
//
// With Load and Save, or with the field File of an InDom, the IDs outlast the program. The file
// has the format of PCP's C agents. With [InDom.SetInstances] the program chooses the IDs.
//
// # Groups
//
// A [Group] reads what several metrics have in common once per fetch, before the first value:
//
//	disks := &pmda.InDom{Name: "disk"}
//	disks.Group = a.Group(func(ctx context.Context, r *pmda.Request) error {
//		stats = readDiskStats()
//		_, err := disks.SetNames(slices.Sorted(maps.Keys(stats))...)
//		return err
//	})
//	a.Attach(disks)
//
// A metric belongs to its Group and to that of its instance domain. The refresh, the values and the
// stores of a group run under its lock, so stats needs no other lock.
//
// # Slow sources
//
// [Every] reads a source that is too slow for a fetch in the background, while the agent is served:
//
//	web := pmda.Every(a, 10*time.Second, readStatistics) // returns a struct
//
// Metrics with Group: web.Group() take their values from web.Load(). All metrics of one fetch see
// the same struct. web.Register("web.refresh", 0) adds metrics about the reading, such as the age
// of the values and the interval, which clients can set. While reading fails, the last values stay,
// at most until the MaxAge of a [Polled].
//
// # Help texts
//
// Metric and InDom have the fields Text, of one line, and Help, of many lines. [Agent.UseHelp]
// reads both from a file instead, which a program can embed:
//
//	//go:embed help
//	var files embed.FS
//
//	a.UseHelp(files, "help")
//
// The file is the source that newhelp(1) compiles. In it CACHE.0 is the instance domain with serial
// 0 of the agent cache:
//
//	@ CACHE.0 The shards of the cache
//	@ cache.hits Lookups served from memory
//	Lookups of entries that had expired count as misses.
//
// UseHelp also accepts the compiled pair help.dir and help.pag of a C agent. The commands
// examples/newhelp and examples/chkhelp compile such files and print them.
//
// # Events
//
// An [EventQueue] keeps events until all clients have fetched them. Each client gets each event
// once. A client that is too slow gets the number of events that it has missed. The parameters
// of events are metrics, too:
//
//	requests := a.NewEventQueue() // keeps up to 1 MiB for slow clients: see MaxBytes
//	pmda.Register(a, pmda.Metric[[]byte]{
//		Name: "web.requests", Text: "Requests served",
//		Type: pdu.TypeEvent, Values: requests.Values,
//	})
//	path := pmda.RegisterParam(a, pmda.Metric[string]{Name: "web.request.path"})
//	...
//	requests.Append(time.Now(), pdu.EventPoint, path.Of("/index.html"))
//
// pmevent web.requests shows them as they come. [EventQueue.SetFilter] restricts the events of
// one client. Call it in the Store function of the event metric, where pmevent -x stores its
// filter, or of another metric. A filter that pmstore stores has no effect on pmevent, which is
// another client.
//
// An agent without a queue returns an event array as a []byte, which pdu.EventBuilder makes;
// [EventParam.PMID] returns the PMIDs of its parameters.
//
// # Dynamic metrics
//
// A collector merges the names of its agents once, and again after a change. Where metrics come
// and go often, [Agent.AddDynamic] names a subtree whose names the collector requests from the
// agent each time:
//
//	a.AddDynamic("jobs.run")
//	pmda.Register(a, pmda.Metric[uint64]{Name: "jobs.run.backup.lines", Value: lines})
//	...
//	a.Remove("jobs.run.backup.lines")
//
// The name space of a C pmcd contains only the root, as "jobs.run 400:*:*"; the option --install
// writes that line. The cost of a change does not depend on the number of metrics. Each reply shows
// the names at one point in time. A metric may have more names ([Agent.AddAlias]), and a name may
// lead to a metric of another agent ([Agent.AddLink]). For names that are unknown until a client
// requests them, write a wrapper that registers them on request, or that overrides PMID, Names,
// Children, Traverse, Desc and Fetch.
//
// # Changing metrics while serving
//
// Metrics, instance domains and dynamic roots can be added, removed ([Agent.Remove],
// [Agent.Detach]) and replaced while the agent serves. A request works with the tables that were
// there when it began. Clients learn of changed names with the agent's next fetch.
//
// A metric that is registered again gets the PMID that it had before, if possible: the agent reuses
// the number of a removed metric as late as it can. See [ItemID].
//
// # Stores
//
// A metric with a function Store lets clients set its values. The client gets the code of the
// error that Store returns, such as pdu.ErrBadStore.
//
// # Labels
//
// Labels are JSON objects: of the agent (the field DomainLabels), of clusters (ClusterLabels), of
// instance domains and metrics (Labels), and of instances (InstanceLabels). [LabelJSON] makes one
// from a map or a struct:
//
//	Labels: pmda.LabelJSON(map[string]any{"role": "backup"}),
//
// [LabelNotes] makes optional labels, which describe a metric without being part of its identity.
// The two can be joined with +. The field LabelsOf returns labels that change; call
// [Agent.Notify] after a change.
//
// # Wrapping
//
// A struct that embeds a Handler and overrides some methods changes the replies of an agent, as
// with the handlers of net/http. This wrapper logs the stores of clients:
//
//	type logged struct{ pmda.Handler }
//
//	func (l logged) Store(ctx context.Context, r *pmda.Request, values *pdu.Result) error {
//		err := l.Handler.Store(ctx, r, values)
//		slog.Info("store", "user", r.Client.User, "err", err)
//		return err
//	}
//
//	func (l logged) Unwrap() pmda.Handler { return l.Handler }
//
//	srv.Add(logged{a})
//
// A wrapper needs the method Unwrap, through which [As] finds the log and other abilities of the
// Agent. [Agent.Use] installs a wrapper in the Agent itself, which makes it work under Main, too.
// Such a wrapper needs no Unwrap. The wrapper of the last call of Use gets a request first.
//
// [Agent.OnRequest] and [Agent.OnReply] add functions that are called before and after each
// request of any kind, with the client's user, process and container. [Agent.OnEndClient] adds
// one for the end of a client.
//
// # Agents that start slowly
//
// An agent that needs a while before it has values sets StartsNotReady. Clients then get
// pdu.ErrAgain at once, until the agent calls [Agent.SetReady]:
//
//	a := &pmda.Agent{Name: "big", Domain: 400, StartsNotReady: true}
//	go func() {
//		load()
//		a.SetReady(true)
//	}()
//	pmda.Main(a)
//
// The agent's line in pmcd.conf must contain the word notready, as in
// "big 400 pipe binary notready PATH"; the option --install writes it. SetReady may also be called
// later, for a pause. Leave StartsNotReady false to debug an agent with dbpmda(1): dbpmda takes
// each reply of such an agent for the reply to the request before.
//
// # Concurrency
//
// Methods of a Handler are called concurrently, like those of net/http. Protect the data that the
// functions of an agent share with a lock, a Group, or [Serial] around the Handler. All methods of
// Agent and InDom may be called at any time, even by functions of the agent. A function should
// return soon after its ctx has ended. A function that hangs stops only its own agent from
// replying.
//
// Set exported fields before the agent serves.
//
// # Tests
//
// Package [github.com/pcp-go/pcp/pmda/pmdatest] checks that a Handler keeps the contract. It needs
// no collector. Its documentation also shows how to test the values, with a collector and a client
// in the same process and without a socket.
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
//	pmdaOpenHelp, pmdaGetHelp              Agent.UseHelp
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
//	pmdaEventNewClient, pmdaEventEndClient not needed: the queue tracks its clients
//	pmdaTreeCreate, pmdaTreeInsert,
//	pmdaDynamicPMNS, pmdaDynamicSetClusterMask,
//	pmdaDynamicLookupPMID and others       Agent.AddDynamic, Register
package pmda
