package pmdalinux_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
)

// keeping is our agent, with a directory for its IDs.
func keeping(t *testing.T, root, state string) side {
	t.Helper()
	a, err := pmdalinux.New(pmdalinux.Options{Root: root, StateDir: state})
	if err != nil {
		t.Fatal(err)
	}
	s := &collector.Server{}
	if err := s.Add(a); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	c, err := pmapi.Local(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return side{c, t}
}

// TestStateDir: disks keep their IDs, and the C agent takes them over.
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
		got := keeping(t, stats(s.disks...).write(t), state).look([]string{"disk.dev.read"}).String()
		if diff := cmp.Diff(s.want, got); diff != "" {
			t.Error("(-want +got)\n", diff)
		}
	}
	got := theirs(t, stats("sde", "sdd", "sdb").write(t), "PCP_VAR_DIR="+vars).look([]string{"disk.dev.read"}).String()
	if diff := cmp.Diff("disk.dev.read 1 \"sdb\" 1 3 \"sdd\" 1 4 \"sde\" 1\n", got); diff != "" {
		t.Error("the C agent (-want +got)\n", diff)
	}
	got = keeping(t, stats("sde", "sdf").write(t), state).look([]string{"disk.dev.read"}).String()
	if diff := cmp.Diff("disk.dev.read 4 \"sde\" 1 5 \"sdf\" 1\n", got); diff != "" {
		t.Error("after the C agent (-want +got)\n", diff)
	}
}
