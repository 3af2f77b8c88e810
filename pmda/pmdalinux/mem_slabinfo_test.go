package pmdalinux_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pmda/pmdalinux"
)

const slabTitles = "# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> <batchcount> <sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>\n"

// goodSlabs has a file of each version.
var goodSlabs = map[string]string{
	"2.1": "slabinfo - version: 2.1\n" + slabTitles + `kmalloc-8k           100    108   8192    4    8 : tunables    0    0    0 : slabdata     27     28      0
gfs2_glock(aspace)      5    108   8192    3    1 : tunables    0    0    0 : slabdata     27     28      0
two words  7 8 9 10 11 : tunables 0 0 0 : slabdata 1 2 0
Acpi-State    0     51     80   51    1 : tunables    0    0    0 : slabdata      1      1      0
`,
	"2.1 with debugging": "slabinfo - version: 2.1 (statistics)\n" + slabTitles +
		"size-32  12 113 32 113 1 : tunables 120 60 8 : slabdata 1 1 0 : globalstat 31 31 1 0 0 0 0 0 0 : cpustat 11 4 3 0\n",
	"2.0":                       "slabinfo - version: 2.0\n" + slabTitles + "size-64(DMA)  1 61 64 61 1 : tunables 120 60 8 : slabdata 1 1 0\n",
	"1.1":                       "slabinfo - version: 1.1\nkmem_cache            59     78    100    2    3    4\nip_conntrack           0     11    352    0    1    1\n",
	"1.1 of several processors": "slabinfo - version: 1.1 (SMP)\nkmem_cache            59     78    100    2    2    1 :  252  126\n",
}

// TestSlabVersions compares the caches of each version of the file with the C agent.
func TestSlabVersions(t *testing.T) {
	for name, text := range goodSlabs {
		t.Run(name, func(t *testing.T) { sameOnTree(t, files{"proc/slabinfo": text}.write(t)) })
	}
}

// TestSlabInfo compares the values of good and damaged files.
func TestSlabInfo(t *testing.T) {
	const rest = " 2 3 4 5 : tunables 0 0 0 : slabdata 6 7 0\n"
	for _, tt := range []struct{ name, text, metrics, want string }{
		{"good", goodSlabs["2.1"], "slabs.total_size", `mem.slabinfo.slabs.total_size 0 "kmalloc-8k" 819200 1 "gfs2_glock(aspace)" 6826 2 "two_words" 31539 3 "Acpi-State" 0` + "\n"},
		{"blanks, numbers and separators in names", "slabinfo - version: 2.1\nlov 2 session 9" + rest + "dentry(5:a : tunables 1)  7" + rest,
			"objects.active", `mem.slabinfo.objects.active 0 "lov_2_session" 9 1 "dentry(5:a_:_tunables_1)" 7` + "\n"},
		{"old", goodSlabs["1.1"], "slabs.total_size", `mem.slabinfo.slabs.total_size 0 "kmem_cache" 32768 1 "ip_conntrack" 0` + "\n"},
		{"old, not known", goodSlabs["1.1"], "slabs.total", "mem.slabinfo.slabs.total\n"},
		{"empty", "", "objects.active", "mem.slabinfo.objects.active\n"},
		{"another version", "slabinfo - version: 3.0\na 1" + rest, "objects.active", "mem.slabinfo.objects.active\n"},
		{"no version", "a 1" + rest, "objects.active", "mem.slabinfo.objects.active\n"},
		{"damaged lines", "slabinfo - version: 2.1\n\na\nb 1 2 3\nc 1 2 3 4 5\nd -1" + rest + "e x" + rest + "f 99999999999999999999" + rest +
			"g\x00 1" + rest + "1" + rest + "h 1 2 3 4 5 tunables : slabdata 6 7 0\ni 1 2 3 4 5 : tunables 0 0 0 : slabdata 6\nj 1 x 3 4 5 : tunables : slabdata 6 7\nk 9" + rest + "l 1 2 3 4 5 : tunables 0 0 0 : slabdata 6 7",
			"objects.active", `mem.slabinfo.objects.active 0 "k" 9` + "\n"},
		{"no room in a slab", "slabinfo - version: 2.1\na 1 2 3 0 5 : tunables 0 0 0 : slabdata 6 7 0\n", "slabs.total_size", "mem.slabinfo.slabs.total_size\n"},
		{"too much", "slabinfo - version: 2.1\na 18446744073709551615" + rest, "slabs.total_size", "mem.slabinfo.slabs.total_size\n"},
		{"too long for 32 bits", "slabinfo - version: 2.1\na 1 2 4294967296 4 5 : tunables 0 0 0 : slabdata 6 7 0\n", "objects.size", "mem.slabinfo.objects.size\n"},
		{"twice the same", "slabinfo - version: 2.1\na 1" + rest + "a 9" + rest, "objects.active", `mem.slabinfo.objects.active 0 "a" 1` + "\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := files{"proc/slabinfo": tt.text}.valuesOf(t, "mem.slabinfo."+tt.metrics)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// TestSlabIDs checks that caches keep the IDs that the C agent assigned.
func TestSlabIDs(t *testing.T) {
	vars := t.TempDir()
	state := filepath.Join(vars, "config", "pmda")
	if err := os.MkdirAll(state, 0o777); err != nil {
		t.Fatal(err)
	}
	tree := func(names ...string) string {
		text := "slabinfo - version: 2.1\n"
		for _, name := range names {
			text += name + " 1 2 3 4 5 : tunables 0 0 0 : slabdata 6 7 0\n"
		}
		return files{"proc/slabinfo": text}.write(t)
	}
	metric := []string{"mem.slabinfo.objects.size"}
	cAgent(t, tree("dentry", "filp", "skbuff"), "PCP_VAR_DIR="+vars).snapshot(metric)
	got := startAgent(t, pmdalinux.Options{Root: tree("skbuff", "inode"), Trusts: trustEverybody, StateDir: state}).snapshot(metric).String()
	if diff := cmp.Diff(`mem.slabinfo.objects.size 2 "skbuff" 3 3 "inode" 3`+"\n", got); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}
