package pmdalinux_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pmda/pmdalinux"
)

// TestStateDir checks that disks keep their IDs, and that the C agent uses the same IDs.
func TestStateDir(t *testing.T) {
	vars := t.TempDir()
	state := filepath.Join(vars, "config", "pmda")
	stats := func(names ...string) files {
		text := ""
		for _, n := range names {
			text += " 8 0 " + n + eleven
		}
		return files{"proc/diskstats": text}
	}
	for _, s := range []struct {
		disks []string
		want  string
	}{
		{[]string{"sda", "sdb"}, "disk.dev.read 0 \"sda\" 1 1 \"sdb\" 1\n"},
		{[]string{"sdc", "sdb"}, "disk.dev.read 1 \"sdb\" 1 2 \"sdc\" 1\n"},
		{[]string{"sdd", "sdc", "sda"}, "disk.dev.read 0 \"sda\" 1 2 \"sdc\" 1 3 \"sdd\" 1\n"},
	} {
		got := startAgent(t, pmdalinux.Options{Root: stats(s.disks...).write(t), StateDir: state}).snapshot([]string{"disk.dev.read"}).String()
		if diff := cmp.Diff(s.want, got); diff != "" {
			t.Error("(-want +got)\n", diff)
		}
	}
	got := cAgent(t, stats("sde", "sdd", "sdb").write(t), "PCP_VAR_DIR="+vars).snapshot([]string{"disk.dev.read"}).String()
	if diff := cmp.Diff("disk.dev.read 1 \"sdb\" 1 3 \"sdd\" 1 4 \"sde\" 1\n", got); diff != "" {
		t.Error("the C agent (-want +got)\n", diff)
	}
	got = startAgent(t, pmdalinux.Options{Root: stats("sde", "sdf").write(t), StateDir: state}).snapshot([]string{"disk.dev.read"}).String()
	if diff := cmp.Diff("disk.dev.read 4 \"sde\" 1 5 \"sdf\" 1\n", got); diff != "" {
		t.Error("after the C agent (-want +got)\n", diff)
	}
}
