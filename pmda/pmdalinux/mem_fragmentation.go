package pmdalinux

import (
	"context"
	"slices"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// fragmentation tells how much free memory is in blocks that are too small.
type fragmentation struct {
	nodes []nodeIndex
}

// A nodeIndex is the sum of the indices of a node's zone Normal.
type nodeIndex struct {
	node uint64
	sum  float32
	ok   bool
}

// maxIndices is the maximum number of indices in a sum: the number of block orders that kernels had
// when the metric was defined. The C agent sums no more.
const maxIndices = 11

// addFragmentation adds the metric of the file. Only the root user can read it, and only if debugfs
// is mounted and the kernel was built with it.
func (l *linux) addFragmentation() {
	f := new(fragmentation)
	pmda.Register(l.Agent, pmda.Metric[float32]{
		Name: "sysfs.kernel.debug.extfrag_unusable", ID: pmda.Item(35, 1), InDom: l.nodes,
		Text: "How much of each node's free memory is in blocks that are too small, summed over sizes",
		Help: "For blocks of each order from 0 to 10, the kernel tells what part of the zone Normal's free memory\n" +
			"cannot be given as such a block: from 0 for none to 1 for all. The value is the sum of those.",
		Group: l.optionalFileGroup("sys/kernel/debug/extfrag/unusable_index", f.parse),
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (float32, error) {
			number, _ := procfile.NumberAfter([]byte(i.Name), "node")
			at := slices.IndexFunc(f.nodes, func(n nodeIndex) bool { return n.node == uint64(number) })
			if at < 0 || !f.nodes[at].ok {
				return 0, pmda.NoValue
			}
			return f.nodes[at].sum, nil
		},
	})
}

// parse parses lines such as "Node 0, zone   Normal 0.000 0.012 0.034".
func (f *fragmentation) parse(text []byte) error {
	f.nodes = f.nodes[:0]
	for line := range procfile.Lines(text) {
		node, zone, rest, ok := cutZone(line)
		if !ok || string(zone) != "Normal" {
			continue
		}
		n := nodeIndex{node: node}
		n.sum, n.ok = sumIndices(rest)
		f.nodes = append(f.nodes, n)
	}
	return nil
}

// sumIndices sums the indices of a zone.
func sumIndices(line []byte) (sum float32, ok bool) {
	for i := range maxIndices {
		field, rest := procfile.CutField(line)
		if len(field) == 0 {
			return sum, i > 0
		}
		v, is := procfile.ParseFloat(field)
		if !is || !(0 <= v && v <= 1) {
			return 0, false
		}
		sum, line = sum+float32(v), rest
	}
	return sum, true
}
