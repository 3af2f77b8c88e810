package pmdalinux

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A topology is the NUMA nodes of the machine with their processors. It is read once, and again
// when a new processor appears. It is safe for concurrent use.
type topology struct {
	dir   string
	indom *pmda.InDom // the nodes

	mu  sync.Mutex // held while it is read
	now atomic.Pointer[nodes]
}

// nodes are the result of a reading. They are immutable.
type nodes struct {
	list []node         // by ascending ID
	of   map[uint32]int // index in list by processor; nil if all are on the first node
}

// A node is memory and the processors that are close to it.
type node struct {
	id     pdu.InstID
	number uint32
	cpus   []uint32
}

// addTopology attaches the instance domain of the nodes.
func (l *linux) addTopology() *topology {
	t := &topology{dir: l.path(nodeDir)}
	t.indom = &pmda.InDom{
		Serial: pmda.InDomSerial(19), Name: "node",
		Text:   "Nodes of the machine: parts of memory, each with the processors that are near",
		Labels: `{"device_type":"numa_node","indom_name":"per numa_node"}`,
		InstanceLabels: func(i pdu.Instance) string {
			n, _ := procfile.NumberAfter([]byte(i.Name), "node")
			return pmda.LabelJSON(map[string]any{"numa_node": n})
		},
		Refresh: func(context.Context, *pmda.Request) error {
			_, err := t.nodes()
			return err
		},
	}
	l.Attach(t.indom)
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: "hinv.nnode", ID: pmda.Item(0, 19), Sem: pdu.SemDiscrete,
		Text: "Nodes that the machine has, 1 if memory is equally near to all processors",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
			n, err := t.nodes()
			if err != nil {
				return 0, err
			}
			return uint32(len(n.list)), nil
		},
	})
	return t
}

// nodes returns the nodes and their processors.
func (t *topology) nodes() (*nodes, error) {
	if n := t.now.Load(); n != nil {
		return n, nil
	}
	return t.read()
}

// read reads the nodes again.
func (t *topology) read() (*nodes, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := new(nodes)
	if n.list = t.listNodes(); n.list != nil {
		n.of = map[uint32]int{}
	} else {
		n.list = []node{{}} // kernel without NUMA nodes
	}
	names := make([]string, len(n.list))
	for at := range n.list {
		names[at] = "node" + strconv.FormatUint(uint64(n.list[at].number), 10)
	}
	ids, err := t.indom.SetNames(names...)
	if err != nil {
		return nil, err
	}
	for at, id := range ids {
		n.list[at].id = id
	}
	slices.SortFunc(n.list, func(a, b node) int { return cmp.Compare(a.id, b.id) })
	for at, node := range n.list {
		for _, cpu := range node.cpus {
			n.of[cpu] = at
		}
	}
	t.now.Store(n)
	return n, nil
}

// listNodes lists the nodes of the directory, which has one directory for each node with links to
// its processors. It returns nil if there are no nodes.
func (t *topology) listNodes() []node {
	var list []node
	for _, number := range listNumbered(t.dir, "node") {
		dir := filepath.Join(t.dir, "node"+strconv.FormatUint(uint64(number), 10))
		list = append(list, node{number: number, cpus: listNumbered(dir, "cpu")})
	}
	return list
}

// listNumbered returns the numbers of directory entries with names such as cpu12 in ascending
// order. It returns nil if the directory cannot be read.
func listNumbered(dir, prefix string) []uint32 {
	var list []uint32
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if n, ok := procfile.NumberAfter([]byte(e.Name()), prefix); ok {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}
