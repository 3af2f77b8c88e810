package pmns

import (
	"fmt"
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// link makes the tree of the definitions of a file. Its errors do not have a File
// yet.
func link(defs []*def) (*node, *ParseError) {
	byPath := make(map[string]*def, len(defs))
	for _, d := range defs {
		if d.path == "root" && byPath["root"] != nil {
			return nil, &ParseError{Msg: `Multiple name space entries for "root"`}
		}
		byPath[d.path] = d
	}
	top := byPath["root"]
	if top == nil {
		return nil, &ParseError{Msg: `No name space entry for "root"`}
	}
	top.used = true
	root, err := top.link("", byPath)
	if err != nil {
		return nil, err
	}
	for _, d := range slices.Backward(defs) {
		if !d.used {
			return nil, &ParseError{Msg: fmt.Sprintf("Disconnected subtree (%q) in name space", d.path)}
		}
	}
	return root, nil
}

// link makes the node that d defines, and those below it. The recursion is bounded
// by the components that a path on one line can have.
func (d *def) link(full string, byPath map[string]*def) (*node, *ParseError) {
	slab := make([]node, len(d.kids))
	kids := make([]*node, 0, len(d.kids))
	for i, k := range d.kids {
		path := k.name
		if full != "" {
			path = full + "." + k.name
		}
		if k.id != pdu.NoPMID {
			slab[i] = node{full: path, off: len(path) - len(k.name), id: k.id, leaves: 1}
			kids = append(kids, &slab[i])
			continue
		}
		below := byPath[path]
		if below == nil || below.used {
			return nil, &ParseError{Msg: fmt.Sprintf("Cannot find definition for non-terminal node %q in name space", path)}
		}
		below.used = true
		n, err := below.link(path, byPath)
		if err != nil {
			return nil, err
		}
		if n.leaves > 0 {
			kids = append(kids, n)
		}
	}
	return newInner(full, kids), nil
}

// checkUnique refuses two names for one PMID.
func checkUnique(root *node) *ParseError {
	first := make(map[pdu.PMID]string, root.leaves)
	for name, id := range root.all() {
		if _, dynamic := id.IsDynamicRoot(); dynamic {
			continue
		}
		if other, ok := first[id]; ok {
			return &ParseError{Msg: fmt.Sprintf("Duplicate metric id (%v) in name space for metrics %q and %q", id, name, other)}
		}
		first[id] = name
	}
	return nil
}
