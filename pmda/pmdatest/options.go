package pmdatest

import (
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmns"
)

// An Option changes what is expected of a Handler.
type Option func(*config)

type config struct {
	tree     *pmns.Tree
	texts    bool
	changing bool
	mayFail  []string
	readOnly bool    // except for stores
	stores   []Store // of Stores
	events   []eventSource
	rename   func()
	restart  func() pmda.Handler
	known    []string
	pinned   *string // of PMIDs; nil without
}

// Names gives the names of the metrics of a Handler whose Namespace is nil.
func Names(t *pmns.Tree) Option { return func(c *config) { c.tree = t } }

// PMIDs pins the PMIDs of all metrics, which archives and clients keep. A metric without an ID gets
// one by the order of registration, so that a metric that is inserted, moved or removed changes
// those of others. The text has a line for each metric and may be embedded from a golden file:
//
//	cache.hits 251.0.0
//	cache.size 251.0.1
//
// The errors have the lines to add. Metrics below a dynamic root are not pinned.
func PMIDs(text string) Option { return func(c *config) { c.pinned = &text } }

// Texts expects a one-line help text for every metric and instance domain.
func Texts() Option { return func(c *config) { c.texts = true } }

// Changing allows instances to come and go between two replies, so that values may belong to
// instances that were not listed before.
func Changing() Option { return func(c *config) { c.changing = true } }

// MayFail names metrics, or names above metrics, whose every fetch may fail, such as the metrics
// of an optional device:
//
//	pmdatest.Run(t, newAgent(), pmdatest.MayFail("cache.disk", "cache.upstream.latency"))
//
// For an instance domain that only such metrics use, the list of instances may fail. A fetch of
// another metric has to succeed, though it may have no values: see pmda.NoValue.
func MayFail(names ...string) Option {
	return func(c *config) { c.mayFail = append(c.mayFail, names...) }
}

// A Store is a store of one value: see Stores.
type Store struct {
	Metric   string       // the name of the metric
	Instance string       // the name of the instance; empty if the metric is singular
	Value    string       // the value as the argument of pmstore(1)
	Client   *pmda.Client // the client that stores; nil means an unknown client
	Err      pdu.Error    // the expected error code; 0 if the store must succeed
	Shows    string       // the metric that shows the effect; empty means Metric
	Want     string       // the value of Shows after it; empty means Value
}

// Stores lists stores, which are made in their order. After one that succeeds, a fetch
// has the value that it wants; after one that is refused, the value of before. No
// metric accepts stores that is not in the list: without arguments Stores says that no
// metric does.
func Stores(list ...Store) Option {
	return func(c *config) { c.stores, c.readOnly = append(c.stores, list...), true }
}

// An eventSource is a metric whose events the test makes.
type eventSource struct {
	metric string
	emit   func(n int)
	enable []Store
}

// Events says how to make events of a metric of type EVENT or HIGHRES_EVENT: emit makes n,
// of one record each. The test is then sure that every client gets each of them once, or
// in the count of those that it has missed. The stores of enable are what a client does
// before it gets events; their Client does not matter.
func Events(metric string, emit func(n int), enable ...Store) Option {
	return func(c *config) { c.events = append(c.events, eventSource{metric, emit, enable}) }
}

// ChangeNames says how to add or remove metrics. Each call of change must add or remove at least
// one name. The test then checks that clients learn of the change, and that names, descriptors
// and values agree afterwards. The names from the beginning of the test need not come back.
func ChangeNames(change func()) Option { return func(c *config) { c.rename = change } }

// Restart says how to start the agent anew, as after the end of its process. The test calls start
// once, and then uses only the new Handler. The same names must have the same PMIDs and
// descriptors, and the same instances the same IDs.
func Restart(start func() pmda.Handler) Option { return func(c *config) { c.restart = start } }

// Known gives parts of the texts of failures that are deliberate and must not be reported. For
// example, PCP's agent sample has a metric whose descriptor changes. A metric's name stands for
// all its failures.
func Known(texts ...string) Option {
	return func(c *config) { c.known = append(c.known, texts...) }
}

// isOrBelow reports whether a metric's name is one of some names, or below one.
func isOrBelow(metric string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return metric == name || strings.HasPrefix(metric, name+".")
	})
}
