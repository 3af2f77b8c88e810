package mmv_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/mmv"
)

// TestDiskFull: values go on in memory, and into a file when there is space again.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("mounting a small file system: %v", err)
	}
	defer syscall.Unmount(dir, 2)
	r := &mmv.Registry{Name: "app"}
	vec := r.InDom("d", mmv.Domain{}).Counter("v", mmv.Metric{})
	c := r.Counter("c", mmv.Metric{})
	if err := r.Publish(dir); err != nil {
		t.Fatal(err)
	}
	c.Inc()
	for i := range 1000 {
		vec.With(fmt.Sprint("instance-", i)).Add(uint64(i))
		c.Inc()
	}
	if err := r.Err(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("with a full disk: %v", err)
	}
	path := filepath.Join(dir, "app")
	wantValue(t, path, "c", "1001")
	onlyFile(t, dir, "app")
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=4m"); err != nil {
		t.Fatal(err)
	}
	if err := r.Publish(dir); err != nil {
		t.Error(err)
	}
	checkFinal(t, r, path)
	for i := range 1000 {
		if got := vec.With(fmt.Sprint("instance-", i)).Value(); got != uint64(i) {
			t.Errorf("instance-%d is %d", i, got)
		}
	}
}

// TestUnmapped: replaced files are unmapped, and no update writes to memory that was unmapped.
func TestUnmapped(t *testing.T) {
	dir := t.TempDir()
	r := &mmv.Registry{Name: "app"}
	d := r.InDom("d", mmv.Domain{})
	v, c := d.Counter("v", mmv.Metric{}), r.Counter("c", mmv.Metric{})
	if err := r.Publish(dir); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					c.Inc()
				}
			}
		})
	}
	for range 200 {
		v.With("x").Inc()
		d.Remove("x")
	}
	const few = 20
	deadline := time.Now().Add(30 * time.Second)
	n := 0
	for n = mappings(t, dir); n > few && time.Now().Before(deadline); n = mappings(t, dir) {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if n > few {
		t.Errorf("%d files are mapped", n)
	}
	close(stop)
	wg.Wait()
}

// TestFewMapped: without a garbage collection, files that were replaced do not fill the disk and
// the address space, and in the end the file has all.
func TestFewMapped(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	dir := t.TempDir()
	r := &mmv.Registry{Name: "app"}
	d := r.InDom("d", mmv.Domain{})
	v := d.Counter("v", mmv.Metric{})
	if err := r.Publish(dir); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for i := range 800 {
		v.With("x").Add(uint64(i))
		if n, most := mappings(t, dir), 256+10+int(time.Since(begin)/time.Second); n > most { // 256 and one each second
			t.Fatalf("%d files are mapped, want at most %d", n, most)
		}
		d.Remove("x")
	}
	v.With("x").Add(7)
	path := filepath.Join(dir, "app")
	deadline := time.Now().Add(30 * time.Second)
	for readValue(t, path, "v") != "7" && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	wantValue(t, path, "v", "7")
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// mappings is how many files of a directory are mapped.
func mappings(t *testing.T, dir string) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), dir)
}
