package pmapi

import (
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
	"github.com/pcp-go/pcp/pmns"
)

// withOverlays returns the source that contexts use. It adds derived metrics and the metrics of
// event records to src. If names is not nil, its names replace those of src.
func withOverlays(src source.Source, names *pmns.Tree, d *Derived) source.Source {
	if names != nil {
		src = &namesOverlay{src, source.TreeNames{Tree: names}}
	}
	return newDerivedOverlay(&eventOverlay{src}, d)
}

// overlay answers the requests about metrics of an overlay itself and passes the others to the
// source below.
func overlay[Q, A any](reqs []Q, mine func(Q) bool, answer func(Q) (A, error), below func([]Q) ([]A, source.Errors, error)) ([]A, source.Errors, error) {
	others := slices.DeleteFunc(slices.Clone(reqs), mine)
	if len(others) == len(reqs) {
		return below(reqs)
	}
	var answers []A
	var errs source.Errors
	if len(others) > 0 {
		var err error
		if answers, errs, err = below(others); err != nil {
			return nil, nil, err
		}
	}
	all := make([]A, len(reqs))
	var allErrs source.Errors
	n := 0 // others so far
	for i, r := range reqs {
		var err error
		if mine(r) {
			all[i], err = answer(r)
		} else {
			all[i], err = answers[n], errs.At(n)
			n++
		}
		if err != nil {
			allErrs.Set(i, len(reqs), err)
		}
	}
	return all, allErrs, nil
}

// isBelow reports whether a metric is at or below a name.
func isBelow(metric, name string) bool {
	rest, ok := strings.CutPrefix(metric, name)
	return ok && (name == "" || rest == "" || rest[0] == '.')
}

// addNames adds those of more that are at or below a name to the names of the source, whose error
// is err. The error is nil if there are any names now.
func addNames(name string, names []string, err error, more []string) ([]string, error) {
	if err != nil && pdu.FromError(err) != pdu.ErrName {
		return names, err
	}
	added := make(map[string]bool, len(more)) // no map of names, because a collector may have many
	for _, m := range more {
		if isBelow(m, name) {
			added[m] = true
		}
	}
	for _, n := range names {
		delete(added, n)
	}
	for _, m := range more {
		if added[m] {
			delete(added, m)
			names, err = append(names, m), nil
		}
	}
	return names, err
}

// insertNames is like addNames for names in the order of a tree, such as those of archives. Each
// new name goes after the names that share most of its components.
func insertNames(name string, names []string, err error, more []string) ([]string, error) {
	added, err := addNames(name, names, err, more)
	if len(added) == len(names) {
		return added, err
	}
	var root orderedNode
	for _, n := range added {
		root.add(n)
	}
	return root.appendTo(added[:0]), err
}

// An orderedNode is a node of a tree of names. It keeps the names below it in the order of their
// additions.
type orderedNode struct {
	name   string // of a metric; "" for an inner node
	items  []*orderedNode
	inners map[string]*orderedNode // those of items that are inner nodes, by their component
}

// add adds a name as the last of the inner node that has most components in common with it.
func (n *orderedNode) add(name string) {
	for rest := name; rest != ""; {
		var first string
		first, rest, _ = strings.Cut(rest, ".")
		inner := n.inners[first]
		if inner == nil {
			inner = new(orderedNode)
			if n.inners == nil {
				n.inners = map[string]*orderedNode{}
			}
			n.inners[first] = inner
			n.items = append(n.items, inner)
		}
		n = inner
	}
	n.items = append(n.items, &orderedNode{name: name})
}

// appendTo appends the names in their order.
func (n *orderedNode) appendTo(names []string) []string {
	if n.name != "" {
		return append(names, n.name)
	}
	for _, item := range n.items {
		names = item.appendTo(names)
	}
	return names
}

// addChildren adds the components of more directly below a name to the source's children.
func addChildren(name string, children []pmns.Child, err error, more []string) ([]pmns.Child, error) {
	names, err := addNames(name, nil, err, more)
	var added []pmns.Child
	seen := make(map[string]bool, len(names))
	for _, n := range names {
		rest := n
		if name != "" {
			rest = strings.TrimPrefix(n, name)
			if rest = strings.TrimPrefix(rest, "."); rest == "" {
				continue // the name itself
			}
		}
		first, _, deeper := strings.Cut(rest, ".")
		if !seen[first] {
			seen[first] = true
			added = append(added, pmns.Child{Name: first, Leaf: !deeper})
		}
	}
	for _, c := range children {
		delete(seen, c.Name)
	}
	for _, c := range added {
		if seen[c.Name] {
			children = append(children, c)
		}
	}
	return children, err
}
