package pmdatrace

import (
	"cmp"
	"errors"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/tracewire"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A table has the state of all tags. It is not safe for concurrent use.
type table struct {
	period  time.Duration
	buckets int // the number of intervals in a period
	start   time.Time
	limits  limits

	kinds   [numKinds]kindTable
	numTags int
	memory  int // bytes of the tags and the remembered IDs
	hosts   map[string]share
	resets  int
}

// A share is the number of tags that a client or a host has made since the last reset, and their
// memory.
type share struct{ tags, memory int }

// Shares of MaxTags and MaxMemory, so that one client cannot take all.
const (
	clientShare = 8   // one client may take 1/8
	hostShare   = 2   // the clients of one host may take 1/2
	leastTags   = 256 // the minimum of a share
)

// exceeds reports whether a share is more than 1/part of the limits.
func (s share) exceeds(l *limits, part int) bool {
	return s.tags > leastTags && (s.tags > l.tags/part || s.memory > l.memory/part)
}

// plus returns the share with one more tag.
func (s share) plus(memory int) share { return share{s.tags + 1, s.memory + memory} }

const numKinds = int(tracewire.KindCounter)

// A kindTable has the tags of one kind.
type kindTable struct {
	tags      map[string]*tag
	list      []*tag                // in ascending order of id
	instances []pdu.Instance        // of the first tags of list; immutable, because callers keep it
	known     map[string]pdu.InstID // the IDs of tags from before the last reset
	last      pdu.InstID            // the highest assigned ID; the first is 1
}

// A tag is the state of a tag of one kind.
type tag struct {
	id     pdu.InstID
	name   string
	count  uint64  // of its PDUs since the last reset
	total  float64 // of their values
	value  float64 // the last
	ring   []bucket
	window window
}

// A bucket sums up the values of one interval. The zero bucket is the empty one of the first
// interval.
type bucket struct {
	interval int64 // its number since the start
	figures
}

// figures sum up values.
type figures struct {
	count         uint64
	min, max, sum float64
}

// A window sums up the buckets of the history. It ends where an interval begins.
type window struct {
	end int64 // the interval before which it ends
	figures
}

// add adds one value.
func (f *figures) add(v float64) { f.join(&figures{1, v, v, v}) }

// join adds the figures of other values. If the first value is NaN, the minimum and the maximum
// stay NaN, as in the C agent.
func (f *figures) join(g *figures) {
	if f.count == 0 {
		*f = *g
		return
	}
	f.count += g.count
	f.sum += g.sum
	if g.min < f.min {
		f.min = g.min
	}
	if g.max > f.max {
		f.max = g.max
	}
}

func newTable(o *Options) *table {
	t := &table{period: o.Period, buckets: o.Buckets, start: time.Now(), limits: o.limits(), hosts: map[string]share{}}
	for k := range t.kinds {
		t.kinds[k].tags, t.kinds[k].known = map[string]*tag{}, map[string]pdu.InstID{}
	}
	return t
}

// of returns the tags of a kind.
func (t *table) of(k tracewire.Kind) *kindTable { return &t.kinds[k-tracewire.KindTransaction] }

// interval returns the number of the interval that contains a time: the integer part of
// elapsed/(period/buckets), without rounding errors of the divisions.
func (t *table) interval(now time.Time) int64 {
	hi, lo := bits.Mul64(uint64(max(0, now.Sub(t.start))), uint64(t.buckets))
	n, _ := bits.Div64(hi, lo, uint64(t.period))
	return int64(n)
}

// Reasons why a tag is refused.
var (
	errBadTag = errors.New("the tag cannot be the name of an instance: it is empty, begins with a space or has control characters")
	errTags   = errors.New("there are too many tags: store into trace.control.reset, or raise MaxTags")
	errShare  = errors.New("the application or its host has made too many tags: store into trace.control.reset, or raise MaxTags and MaxMemory")
	errMemory = errors.New("the tags take too much memory: store into trace.control.reset, or raise MaxMemory")
	errIDs    = errors.New("the numbers for tags are used up: restart the agent")
)

// add adds the value of a PDU that arrived in an interval. c is its client or nil. isNew reports
// whether the tag is new. The error says why the tag is refused.
func (t *table) add(d *tracewire.Data, interval int64, c *client) (isNew bool, err error) {
	k := t.of(d.Kind)
	g := k.tags[string(d.Tag)]
	if g == nil {
		if g, err = t.newTag(k, string(d.Tag), c); err != nil {
			return false, err
		}
		isNew = true
	}
	g.count++
	g.total += d.Value
	g.value = d.Value
	b := &g.ring[interval%int64(len(g.ring))]
	if b.interval != interval {
		*b = bucket{interval: interval}
	}
	b.add(d.Value)
	return isNew, nil
}

// The memory of tags in bytes, including entries in maps and lists, but without the names.
const (
	tagMemory    = 320
	bucketMemory = 40
	knownMemory  = 96
)

func (t *table) tagMemory(name string) int {
	return tagMemory + len(name) + bucketMemory*(t.buckets+1)
}

// newTag returns a new tag, with its old ID if that is known.
func (t *table) newTag(k *kindTable, name string, c *client) (*tag, error) {
	id, isKnown := k.known[name]
	memory := t.tagMemory(name)
	if isKnown {
		memory -= knownMemory + len(name)
	}
	switch {
	case !pmda.ValidInstanceName(name):
		return nil, errBadTag
	case t.numTags >= t.limits.tags:
		return nil, errTags
	case t.memory+memory > t.limits.memory:
		return nil, errMemory
	case c != nil && !t.reserve(c, t.tagMemory(name)):
		return nil, errShare
	case !isKnown && k.last == maxID:
		return nil, errIDs
	case !isKnown:
		k.last++
		id = k.last
	}
	t.numTags++
	t.memory += memory
	delete(k.known, name)
	g := &tag{id: id, name: name, ring: make([]bucket, t.buckets+1)}
	k.insert(g)
	return g, nil
}

// reserve counts a new tag for its client and the client's host. It returns false if their share is
// used up.
func (t *table) reserve(c *client, memory int) bool {
	if c.made != t.resets {
		c.made, c.tags = t.resets, share{}
	}
	ofClient, ofHost := c.tags.plus(memory), t.hosts[c.host].plus(memory)
	if ofClient.exceeds(&t.limits, clientShare) || ofHost.exceeds(&t.limits, hostShare) {
		return false
	}
	c.tags, t.hosts[c.host] = ofClient, ofHost
	return true
}

// maxID is the highest ID of an instance.
const maxID pdu.InstID = 1<<31 - 1

// insert adds a tag to its kind.
func (k *kindTable) insert(g *tag) {
	k.tags[g.name] = g
	at, _ := k.find(g.id)
	k.list = slices.Insert(k.list, at, g)
	if at < len(k.instances) {
		k.instances = nil
	}
}

// all returns the instances in ascending order of id. The caller may keep the slice, but must not
// change it.
func (k *kindTable) all() []pdu.Instance {
	k.instances = slices.Grow(k.instances, len(k.list)-len(k.instances))
	for _, g := range k.list[len(k.instances):] {
		k.instances = append(k.instances, g.instance())
	}
	return slices.Clip(k.instances)
}

func (g *tag) instance() pdu.Instance { return pdu.Instance{ID: g.id, Name: g.name} }

// find returns the index of a tag in the list, or the index where it belongs.
func (k *kindTable) find(id pdu.InstID) (at int, found bool) {
	return slices.BinarySearchFunc(k.list, id, func(g *tag, id pdu.InstID) int { return cmp.Compare(g.id, id) })
}

// instance finds a tag by its ID, or by its name or the part of the name up to a space.
func (k *kindTable) instance(id pdu.InstID, name string) (pdu.Instance, bool) {
	if id != pdu.NoInst {
		if at, ok := k.find(id); ok {
			return k.list[at].instance(), true
		}
		return pdu.Instance{}, false
	}
	if g := k.tags[name]; g != nil {
		return g.instance(), true
	}
	for _, g := range k.list {
		if rest, ok := strings.CutPrefix(g.name, name); ok && rest[0] == ' ' {
			return g.instance(), true
		}
	}
	return pdu.Instance{}, false
}

// windowBefore sums up the buckets of the period that ends where the interval end begins. The count
// is 0 if they are empty.
func (g *tag) windowBefore(end int64) *figures {
	w := &g.window
	if w.end == end {
		return &w.figures
	}
	*w = window{end: end}
	oldest := end - int64(len(g.ring)) + 1
	for i := range g.ring {
		if b := &g.ring[i]; b.count != 0 && oldest <= b.interval && b.interval < end {
			w.join(&b.figures)
		}
	}
	return &w.figures
}

// reset removes the tags, but remembers their IDs, and starts a new first interval now. If there
// are more remembered IDs than MaxTags, or they take more than half of MaxMemory, it keeps only the
// IDs of the tags that exist now.
func (t *table) reset(now time.Time) {
	remembered, memory := t.numTags, 0
	for i := range t.kinds {
		k := &t.kinds[i]
		remembered += len(k.known)
		memory += k.knownMemory()
		for _, g := range k.list {
			memory += knownMemory + len(g.name)
		}
	}
	tooMany := remembered > t.limits.tags || memory > t.limits.memory/2
	t.start, t.memory, t.numTags, t.hosts = now, 0, 0, map[string]share{}
	t.resets++
	for i := range t.kinds {
		k := &t.kinds[i]
		if tooMany {
			k.known = make(map[string]pdu.InstID, len(k.list))
		}
		for _, g := range k.list {
			k.known[g.name] = g.id
		}
		t.memory += k.knownMemory()
		k.tags, k.list, k.instances = map[string]*tag{}, nil, nil
	}
}

// knownMemory returns the memory of the IDs of tags from before the last reset.
func (k *kindTable) knownMemory() (n int) {
	for name := range k.known {
		n += knownMemory + len(name)
	}
	return n
}
