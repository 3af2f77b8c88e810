package pmdalinux_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// nodesWith returns a tree with two nodes and another file.
func nodesWith(name, text string) files {
	return files{"sys/devices/system/node/node0/meminfo": "Node 0 MemTotal: 16 kB\n", "sys/devices/system/node/node1/meminfo": "Node 1 MemTotal: 17 kB\n", name: text}
}

// TestFragmentation compares the values of good and damaged files, and good ones with the C agent.
func TestFragmentation(t *testing.T) {
	const file = "sys/kernel/debug/extfrag/unusable_index"
	const metric = "sysfs.kernel.debug.extfrag_unusable"
	const eleven = " 0.001 0.003 0.007 0.015 0.033 0.068 0.131 0.238 0.408 0.618 0.837"
	for _, tt := range []struct {
		name, text, want string
		good             bool
	}{
		{"good", "Node 0, zone      DMA 0.500\nNode 0, zone   Normal" + eleven + " \nNode 1, zone   Normal 0.123 0.456 0.789 0.812 0.823 0.834 0.845 0.856 0.867 0.878 0.889 \nNode 1, zone  Movable 0.100\n",
			` 0 "node0" 2.3590002 1 "node1" 8.172`, true},
		{"more orders", "Node 0, zone   Normal" + eleven + " 0.900 0.950 \n", ` 0 "node0" 2.3590002`, true},
		{"fewer orders", "Node 1, zone   Normal 0.001 0.003 \n", ` 1 "node1" 0.004`, true},
		{"other nodes", "Node 7, zone   Normal" + eleven + "\n", "", true},
		{"damaged", "Node 0, zone   Normal 0.1 x 0.3\nNode 1, zone   Normal 0.1 1.5\n", "", false},
		{"more damaged", "Node 0, zone   Normal 0.1 NaN\nNode 1, zone   Normal 0.1 -1.000\n", "", false},
		{"no numbers", "Node 0, zone   Normal\nNode 1, zone\n", "", false},
		{"cut", "Node 0, zone   Normal 0.1 0.2", "", false},
		{"empty", "", "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := nodesWith(file, tt.text)
			if diff := cmp.Diff(metric+tt.want+"\n", tree.valuesOf(t, metric)); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
			if tt.good {
				sameOnTree(t, tree.write(t))
			}
		})
	}
}

// TestBandwidth compares the values of good and damaged files.
func TestBandwidth(t *testing.T) {
	const file = "var/lib/pcp/pmdas/linux/bandwidth.conf"
	const metric = "mem.numa.max_bandwidth"
	const bad = ": Generic error, already reported above"
	for _, tt := range []struct {
		name, text, want string
		good             bool // also for the C agent, which stops reading at an empty line
	}{
		{"good", "# as measured\nVersion:1.0\nnode0:1024\n#node0:3\nnode1: 2048.5 # or so\n", ` 0 "node0" 1024 1 "node1" 2048.5`, true},
		{"of one node", "Version:1.0\nnode1:1e3", ` 1 "node1" 1000`, true},
		{"empty lines", "\nVersion:1.0\n\nnode0:1024\n\nnode1:1\n", ` 0 "node0" 1024 1 "node1" 1`, false},
		{"nodes that are not there", "Version:1.0\nnode0:1024\nnode7:1\n", ` 0 "node0" 1024`, true},
		{"no numbers", "Version:1.0\nnode0:\nnode1:x\n", "", true},
		{"no bandwidths", "Version:1.0\nnode0:0\nnode1:-1\n", "", true},
		{"more of those", "Version:1.0\nnode0:NaN\nnode1:Inf\n", "", false},
		{"no lines for nodes", "Version:1.0\nnode0\n:\n", "", true},
		{"empty", "", "", true},
		{"no version", "node0:1024\n", bad, true},
		{"another version", "Version:2.0\nnode0:1024\n", bad, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := nodesWith(file, tt.text)
			if diff := cmp.Diff(metric+tt.want+"\n", tree.valuesOf(t, metric)); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
			if !tt.good {
				return
			}
			root := tree.write(t)
			want := cAgent(t, root, "PCP_PMDAS_DIR="+filepath.Join(root, "var/lib/pcp/pmdas")).snapshot([]string{metric})
			if tt.want == bad {
				tt.want = "" // it only logs the error
			}
			if diff := cmp.Diff(metric+tt.want+"\n", want.String()); diff != "" {
				t.Error("the C agent (-want +got)\n", diff)
			}
		})
	}
	if diff := cmp.Diff(metric+"\n", nodesWith("x", "").valuesOf(t, metric)); diff != "" {
		t.Error("no file: (-want +got)\n", diff)
	}
}
