package pmdatest

import (
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmns"
)

// An Option changes what Run and Check expect of a Handler.
type Option func(*config)

type config struct {
	tree     *pmns.Tree
	texts    bool
	changing bool
	mayFail  []string
	readOnly bool    // only metrics of stores accept stores
	stores   []Store // of Stores
	events   []eventSource
	rename   func()
	restart  func() pmda.Handler
	known    []string
	pinned   *string // the text of PMIDs; nil if not given
}

// Names gives the names of the metrics of a Handler whose Namespace is nil.
func Names(t *pmns.Tree) Option { return func(c *config) { c.tree = t } }

// PMIDs pins the PMIDs of all metrics, because archives and clients keep PMIDs. A metric without an
// ID gets one by the order of registration, so a metric that is inserted, moved or removed changes
// those of others. The text has a line for each metric and may be embedded from a golden file:
//
//	cache.hits 251.0.0
//	cache.size 251.0.1
//
// Empty lines and lines that start with # are ignored. The errors show the lines to add. Metrics
// below a dynamic root are not pinned.
func PMIDs(text string) Option { return func(c *config) { c.pinned = &text } }

// Texts expects a one-line help text for every metric and instance domain.
func Texts() Option { return func(c *config) { c.texts = true } }

// Changing allows instances to come and go between two replies, so that values may belong to
// instances that were not listed before.
func Changing() Option { return func(c *config) { c.changing = true } }

// MayFail names metrics, or names above metrics, whose fetches may fail, such as the metrics of an
// optional device:
//
//	pmdatest.Run(t, newAgent(), pmdatest.MayFail("cache.disk", "cache.upstream.latency"))
//
// If only such metrics use an instance domain, the list of its instances may fail too. A fetch of
// any other metric must succeed, but it may have no values: see pmda.NoValue.
func MayFail(names ...string) Option {
	return func(c *config) { c.mayFail = append(c.mayFail, names...) }
}

// A Store is a store of one value. See Stores.
type Store struct {
	Metric   string       // the name of the metric
	Instance string       // the name of the instance; empty if the metric is singular
	Value    string       // the value, as in an argument of pmstore(1)
	Client   *pmda.Client // the client that stores; nil means an unknown client
	Err      pdu.Error    // the expected error code; 0 if the store must succeed
	Shows    string       // the metric that shows the effect; empty means Metric
	Want     string       // the value of Shows after the store; empty means Value
}

// Stores lists stores to make, in this order. After a store that succeeds, a fetch must have the
// wanted value. After a refused one, it must have the old value. Metrics that are not in the list
// must refuse stores: with Stores() all metrics must.
func Stores(list ...Store) Option {
	return func(c *config) { c.stores, c.readOnly = append(c.stores, list...), true }
}

// An eventSource is a metric whose events the test generates.
type eventSource struct {
	metric string
	emit   func(n int)
	enable []Store
}

// Events says how to generate events of a metric of type EVENT or HIGHRES_EVENT: emit generates n
// events of one record each. The test checks that every client gets each of them once, or counted
// as missed. A client makes the stores of enable before it reads events. Only their Metric,
// Instance and Value count.
func Events(metric string, emit func(n int), enable ...Store) Option {
	return func(c *config) { c.events = append(c.events, eventSource{metric, emit, enable}) }
}

// ChangeNames says how to add or remove metrics. Each call of change must add or remove at least
// one name. The test then checks that clients learn of the change, and that names, descriptors
// and values agree afterwards. Removed names need not come back.
func ChangeNames(change func()) Option { return func(c *config) { c.rename = change } }

// Restart says how to start the agent again, as after the end of its process. The test calls start
// once, and then uses only the new Handler. Metrics must keep their PMIDs and descriptors, and
// instances their IDs.
func Restart(start func() pmda.Handler) Option { return func(c *config) { c.restart = start } }

// Known suppresses failures whose first line contains one of the texts, such as the name of a
// metric. It is for deliberate failures: for example, PCP's agent sample has a metric whose
// descriptor changes.
func Known(texts ...string) Option {
	return func(c *config) { c.known = append(c.known, texts...) }
}

// isOrBelow reports whether a metric's name is one of some names, or below one.
func isOrBelow(metric string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return metric == name || strings.HasPrefix(metric, name+".")
	})
}
