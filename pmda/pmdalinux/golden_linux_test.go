package pmdalinux_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
)

var update = flag.Bool("update", false, "write the golden files anew")

// ofSystem reports whether a metric describes the system that runs the test and ignores the tree.
func ofSystem(name string) bool {
	switch {
	case name == "filesys.mountdir", name == "filesys.readonly":
		return false
	case strings.HasPrefix(name, "filesys."), strings.HasPrefix(name, "tmpfs."), strings.HasPrefix(name, "event."):
		return true
	}
	return name == "hinv.pagesize"
}

// unordered reports whether a metric's instances have IDs in the order of a directory,
// which differs by file system.
func unordered(name string) bool {
	return slices.Contains([]string{"network.interface.inet_addr", "network.interface.ipv6_addr",
		"network.interface.ipv6_scope", "network.interface.hw_addr"}, name)
}

// TestGolden compares all values of the trees in testdata with golden files, and with the
// C agent.
func TestGolden(t *testing.T) {
	list, err := filepath.Glob("testdata/*.tree")
	if err != nil || len(list) == 0 {
		t.Fatal("no trees", err)
	}
	for _, path := range list {
		name := strings.TrimSuffix(filepath.Base(path), ".tree")
		root := readTree(t, path).write(t)
		t.Run(name, func(t *testing.T) { golden(t, name, allValues(t, root)) })
		t.Run(name+"/same as C", func(t *testing.T) { sameOnTree(t, root, misreadIn[name]...) })
	}
}

// allValues returns the values of all metrics of a tree.
func allValues(t testing.TB, root string) string {
	t.Helper()
	if os.Getpagesize() != 4096 {
		t.Skip("golden files have the numbers of pages of 4096 bytes")
	}
	our := ourAgent(t, root)
	p := our.snapshot(slices.DeleteFunc(agentMetrics(t, our), ofSystem))
	for name := range p.values {
		if unordered(name) {
			p.dropIDs(name)
		}
	}
	return p.String()
}

// dropIDs removes the IDs of instances, and sorts them by name.
func (p snapshot) dropIDs(name string) {
	values := map[string]pdu.Atom{}
	for inst, v := range p.values[name] {
		values[instName(inst)] = v
	}
	p.values[name], p.insts[name] = values, strings.Join(slices.Sorted(maps.Keys(values)), "\n")
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}
