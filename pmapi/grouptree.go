package pmapi

import (
	"context"
	"iter"

	"github.com/pcp-go/pcp/pdu"
)

// A Tree has the metrics at and below a name, each as a Set of a Group. A Fetch looks them up again
// when the collector reports changed names, so metrics come and go.
type Tree[T pdu.Scalar] struct {
	g     *Group
	name  string
	opts  []ItemOption
	sets  []*Set[T] // in the order of the name space
	stale bool      // the names have to be looked up
	why   error     // the reason why there are no names, or nil
}

// A treeMember is a Tree without its type parameter.
type treeMember interface {
	// expire makes the next update look up the names.
	expire()
	// expired reports whether the next update looks up the names.
	expired() bool
	// update looks up the names if they have expired. Its error is that of a request as a whole.
	update(ctx context.Context) error
	Err() error
}

// AddTree adds all metrics at and below a name to a group; "" means all metrics. It adds each one
// as AddSet does, with the same options.
//
//	network := pmapi.AddTree[float64](g, "network.interface.in")
//	...
//	for metric, set := range network.All() {
//		for instance, v := range set.All() {
//
// A metric that does not fit, such as a metric of event records or one whose units Scale cannot
// convert, has an error in its Set, but not in Group.Err. pmFetchGroup(3) has no counterpart.
func AddTree[T pdu.Scalar](g *Group, name string, opts ...ItemOption) *Tree[T] {
	t := new(Tree[T])
	t.addTo(g, name, opts)
	return t
}

func (t *Tree[T]) addTo(g *Group, name string, opts []ItemOption) {
	checkGroup(g, name)
	*t = Tree[T]{g: g, name: name, opts: opts, stale: true}
	g.trees = append(g.trees, t)
	g.unresolved = true
}

// Err returns why the Tree has no metrics: pdu.ErrName if no metric is at or below the name,
// pdu.ErrArg after Remove.
func (t *Tree[T]) Err() error { return t.why }

// All yields the metrics of the latest Fetch, by their full names, in the order of the name space.
// A metric keeps its Set as long as it exists.
func (t *Tree[T]) All() iter.Seq2[string, *Set[T]] {
	return func(yield func(string, *Set[T]) bool) {
		for _, s := range t.sets {
			if !yield(s.name, s) {
				return
			}
		}
	}
}

// Remove removes all metrics of the Tree from its group.
func (t *Tree[T]) Remove() {
	for i, other := range t.g.trees {
		if other == treeMember(t) {
			t.g.trees = append(t.g.trees[:i:i], t.g.trees[i+1:]...)
			break
		}
	}
	for _, s := range t.sets {
		s.Remove()
	}
	t.sets, t.why = nil, t.g.removed(t.name)
}

func (t *Tree[T]) expire() { t.stale = true }

func (t *Tree[T]) expired() bool { return t.stale }

func (t *Tree[T]) update(ctx context.Context) error {
	if !t.stale {
		return nil
	}
	names, err := t.g.c.Traverse(ctx, t.name)
	if err != nil && !isReply(err) {
		return err
	}
	t.why, t.stale = err, err != nil && isTemporary(pdu.FromError(err))
	was := make(map[string]*Set[T], len(t.sets))
	for _, s := range t.sets {
		was[s.name] = s
	}
	t.sets = make([]*Set[T], 0, len(names))
	for _, name := range names {
		s := was[name]
		if s == nil {
			s = AddSet[T](t.g, name, t.opts...)
			s.ofTree = true
		}
		delete(was, name)
		t.sets = append(t.sets, s)
	}
	gone := make(map[*groupMetric]bool, len(was))
	for _, s := range was {
		gone[&s.groupMetric] = true
	}
	t.g.remove(gone)
	return nil
}
