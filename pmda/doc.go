// Package pmda makes agents: programs, or parts of programs, that export metrics
// to a collector of Performance Co-Pilot (PMDAs, in PCP's words).
//
//	func main() {
//		a := &pmda.Agent{Name: "cache", Domain: 400}
//		shards := a.AddInDom("shard", "red", "blue")
//		pmda.Register(a, pmda.Metric[uint64]{
//			Name:  "cache.hits",
//			Text:  "Lookups answered from memory",
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
// An [Agent] has tables of metrics and instance domains, from which it answers
// everything that a collector asks: descriptors, names, values under the
// client's profile, instances, help texts, labels, stores. What cannot be told
// by a table is said by one of its [Callbacks], which may leave the rest to
// [Agent.Default]. The results of Register and AddInDom may be ignored:
// [Agent.Err] has the first failure, for which Main and a collector refuse the
// agent.
//
// # A program of its own, or a part of one
//
// [Main] makes a program of an agent, which pmcd starts (or which listens on a
// socket), with the options of PCP's agents; it can install itself into a PCP.
// [Serve] speaks the protocol over any stream. A collector in the same program
// takes the same value without a changed line: see the package
// [github.com/pcp-go/pcp/pmda/collector]. Both need just a [Handler], the
// interface that Agent implements. A type that embeds [Unimplemented] is a
// Handler with no more code than it has metrics of its own. Package
// [github.com/pcp-go/pcp/pmda/remote] makes a Handler of an agent in another
// process.
//
// # Values
//
// The type parameter of [Register] is the type of the values, from int32 to
// string and []byte, named types included. [Metric] has a function Value that is
// asked for one instance at a time, or Values that puts all it has into a [Set].
// Neither is called for instances that the client's profile excludes. Return
// [NoValue] if there is nothing now. Any other error leaves out the instance too,
// and is what the client sees where no instance has a value: a [pdu.Error] such
// as pdu.ErrAgain or pdu.ErrAppVersion as it is, an errno as its number. Other
// errors go to the Logger, once for as long as they stay the same. A panic fails
// its own metric and is logged likewise. An event array is a []byte, with Type set and
// pdu.EventBuilder to make it; [Agent.Namespace] has the PMIDs of its parameters.
//
// # Instances that come and go
//
// [InDom.Update] replaces the instances by name; a name has the same ID whenever
// it comes back. [InDom.Set] takes IDs from you. Call them when something changes,
// or from the domain's Refresh, which runs before the instances are looked at.
//
// # Groups
//
// Where one look at the source gives many values, a [Group] takes that look once
// per fetch, before the first value:
//
//	disks := &pmda.InDom{Name: "disk"}
//	disks.Group = a.Group(func(ctx context.Context, r *pmda.Request) error {
//		stats = readDiskStats()
//		return disks.Update(slices.Sorted(maps.Keys(stats))...)
//	})
//	a.Attach(disks)
//
// Metrics name their Group, or have it from their instance domain. Refresh,
// values and stores of a group run under its lock, so that stats needs no other.
//
// # Stores and labels
//
// A metric with a Store function lets clients set values; its errors are the
// client's. Labels are JSON objects: of the agent (DomainLabels), its clusters,
// instance domains, metrics and instances. Call [Agent.Notify] when they change.
//
// # Names below a dynamic root
//
// Where an agent finds out itself what metrics there are, [Agent.AddDynamic]
// names a subtree of which collectors ask it, and [Callbacks] answer.
//
// # Concurrency
//
// Handlers are called concurrently, like those of net/http: guard what callbacks
// share, put it under a Group, or wrap the Handler in [Serial]. All methods of
// Agent and InDom may be called at any time, also by callbacks. A callback honours
// its ctx; one that hangs costs its own agent and nobody else. Exported fields
// are set before the agent serves.
//
// # Tests
//
// Package [github.com/pcp-go/pcp/pmda/pmdatest] checks any Handler against the
// contract.
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
//	pmdaCacheStore, pmdaCacheLookup,
//	pmdaCacheOp                            InDom.Update, InDom.Set, InDom.File
//	pmdaProfile, pmdaFetch, pmdaDesc,
//	pmdaInstance, pmdaText, pmdaStore,
//	pmdaPMID, pmdaName, pmdaChildren,
//	pmdaLabel                              Agent.Default
//	pmdaSetEndContextCallBack              Callbacks.EndClient
//	pmdaSetLabelCallBack                   InDom.InstanceLabels
//	pmdaAddLabels                          Metric.Labels and others
//	pmdaAttribute                          Handler.Attributes, Request.Client
//	pmdaGetContext                         Request.Client
//	pmdaSetFlags(PMDA_EXT_NAMES_CHANGE)    Agent.Notify
//	pmdaEventNewArray, pmdaEventAddRecord  pdu.EventBuilder
//	pmdaTreeCreate, pmdaTreeInsert         pmns.Builder
package pmda
