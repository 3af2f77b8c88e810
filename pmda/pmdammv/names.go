package pmdammv

import (
	"slices"
	"strings"

	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// names holds the names of a snapshot.
type names struct {
	tree   *pmns.Tree
	hidden map[*mmv.FileMetric]bool // metrics whose names belong to others
}

// treeOf returns a tree with all names at, below and above a name: the tree of its file, or the
// tree of all names.
func (s *snapshot) treeOf(name string) *pmns.Tree {
	rest, ok := strings.CutPrefix(name, s.name+".")
	if ok && !s.collide {
		first, _, _ := strings.Cut(rest, ".")
		if first == controlName {
			b := pmns.Builder{Prepend: true}
			s.addControls(&b)
			return b.Tree()
		}
		i, found := slices.BinarySearchFunc(s.files, first, func(f file, name string) int { return strings.Compare(f.name, name) })
		if found {
			return s.fileTree(s.files[i])
		}
	}
	return s.makeNames().tree
}

// A fileTree holds the names of a file in a cluster.
type fileTree struct {
	cluster int
	tree    *pmns.Tree
}

// fileTree returns the names of a file. The entry keeps them for the next snapshot.
func (s *snapshot) fileTree(f file) *pmns.Tree {
	if t := f.tree.Load(); t != nil && t.cluster == f.cluster {
		return t.tree
	}
	b := pmns.Builder{Prepend: true, AnyStart: true}
	prefix := s.name + "." + f.prefix()
	for i := range f.file.Metrics {
		if m := &f.file.Metrics[i]; f.metric(m.Item) == m {
			// Add fails if the name is a prefix of another one. The metric then has no name.
			b.Add(prefix+m.Name, pdu.MakePMID(s.domain, f.cluster, m.Item))
		}
	}
	t := &fileTree{f.cluster, b.Tree()}
	f.tree.Store(t)
	return t.tree
}

// hidden reports whether a metric of an earlier file has the name of m.
func (s *snapshot) hidden(m *mmv.FileMetric) bool { return s.collide && s.makeNames().hidden[m] }

// mayCollide reports whether another file may have a name of this file. File names differ, so that
// needs a file without a prefix, or a prefix that contains a dot or is that of the controls.
func mayCollide(e *entry) bool {
	return e.file.NoPrefix || strings.Contains(e.name, ".") || e.name == controlName
}

// makeNames returns the names of the snapshot, with the tree of all names in the order of the C
// agent: the latest addition comes first.
func (s *snapshot) makeNames() *names {
	s.namesOnce.Do(func() {
		if s.collide {
			s.names.addAll(s)
			return
		}
		trees := make([]*pmns.Tree, 0, len(s.files)+1)
		for _, f := range slices.Backward(s.files) {
			trees = append(trees, s.fileTree(f))
		}
		b := pmns.Builder{Prepend: true}
		s.addControls(&b)
		s.names.tree, _ = pmns.Merge(append(trees, b.Tree())...)
	})
	return &s.names
}

func (s *snapshot) addControls(b *pmns.Builder) {
	for i, c := range controls {
		b.Add(s.name+"."+controlName+"."+c.name, pdu.MakePMID(s.domain, 0, i))
	}
}

// addAll adds the names of files that may have equal names. The first one counts.
func (n *names) addAll(s *snapshot) {
	b := pmns.Builder{Prepend: true, AnyStart: true}
	s.addControls(&b)
	taken := map[string]bool{}
	for _, c := range controls {
		taken[s.name+"."+controlName+"."+c.name] = true
	}
	for _, f := range s.files {
		prefix := s.name + "." + f.prefix()
		for i := range f.file.Metrics {
			m := &f.file.Metrics[i]
			if f.metric(m.Item) != m {
				continue // it cannot be exported
			}
			name := prefix + m.Name
			if taken[name] {
				n.hide(m)
				continue
			}
			taken[name] = true
			b.Add(name, pdu.MakePMID(s.domain, f.cluster, m.Item)) // as in fileTree
		}
	}
	n.tree = b.Tree()
}

func (n *names) hide(m *mmv.FileMetric) {
	if n.hidden == nil {
		n.hidden = map[*mmv.FileMetric]bool{}
	}
	n.hidden[m] = true
}

// namesOf returns the names of a metric.
func (s *snapshot) namesOf(id pdu.PMID) []string {
	if c := s.clusters[id.Cluster()]; c != nil && len(c.files) == 1 && !s.collide {
		return s.fileTree(c.files[0]).Names(id)
	}
	return s.makeNames().tree.Names(id)
}
