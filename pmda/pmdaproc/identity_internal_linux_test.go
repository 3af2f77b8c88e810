package pmdaproc

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pcp-go/pcp/pmda"
)

// The real user of a thread stays the same while it has the rights of a client. Otherwise the
// client could end the agent with a signal.
func TestSwitchedKeepsRealUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may switch")
	}
	const nobodyID = 65534
	onOtherThread(func() bool {
		called, back := switched(nobodyID, nobodyID, func() {
			if r, e, s := unix.Getresuid(); r != 0 || e != nobodyID || s != 0 {
				t.Errorf("users %d, %d, %d", r, e, s)
			}
			if r, e, s := unix.Getresgid(); r != 0 || e != nobodyID || s != 0 {
				t.Errorf("groups %d, %d, %d", r, e, s)
			}
			if groups, err := unix.Getgroups(); err != nil || len(groups) != 0 {
				t.Errorf("further groups %v, %v", groups, err)
			}
			if f, err := os.Open("/proc/1/environ"); err == nil {
				f.Close()
				t.Error("it may read what is root's")
			}
		})
		if !called || !back {
			t.Errorf("called %t, back %t", called, back)
		}
		return back
	})
}

// TestAllowsOnlyRoot checks that an agent of another user than root keeps its own rights, even with
// capabilities.
func TestAllowsOnlyRoot(t *testing.T) {
	if allowed, _ := (identity{}).allows(4242, 4242); allowed != (os.Geteuid() == 0) {
		t.Errorf("allowed: %t", allowed)
	}
}

// No thread switches for a client whose user or group is unknown, nor if access is not checked.
func TestSwitchesForKnownAlone(t *testing.T) {
	for _, c := range []struct {
		uid, gid     int
		open, access bool
	}{{-1, -1, false, false}, {4242, -1, false, false}, {-1, 4242, false, false}, {4242, 4242, true, true}} {
		p := newProc(&Options{NoAccessChecks: c.open})
		client := pmda.NewClient(1, 1)
		client.UID, client.GID = c.uid, c.gid
		v, err := p.newView(t.Context(), client)
		if err != nil || v.switches || v.access != c.access {
			t.Errorf("%+v: %+v, %v", c, v, err)
		}
	}
}
