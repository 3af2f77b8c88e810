package pmdalinux

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestManyMounts checks that listing 100,000 mounts is fast, even after the first is removed. A
// linear search for each would take a minute.
func TestManyMounts(t *testing.T) {
	m := newMounts(t.TempDir())
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "/dev/mapper/volume%06d /var/lib/volumes/%d ext4 rw 0 0\n", i, i)
	}
	begin := processorTime(t)
	for range 2 {
		_, rest, _ := strings.Cut(b.String(), "\n")
		if err := m.parse([]byte(rest + b.String()[:len(b.String())-len(rest)])); err != nil {
			t.Fatal(err)
		}
		b.Reset()
		b.WriteString(rest)
	}
	if took := processorTime(t) - begin; took > 15*time.Second || len(m.rows.ids) < 99_999 {
		t.Errorf("%d of them took %v", len(m.rows.ids), took)
	}
}

// processorTime returns the processor time of this process, which does not depend on other load.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
