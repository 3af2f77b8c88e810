package pmdalinux_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// linearTree returns a machine with n each of processors, disks, interfaces, sockets, locks and
// mounted file systems.
func linearTree(n int) files {
	f := machine{cpus: upTo(n), irqs: upTo(10), disks: upTo(n), mapped: upTo(n), links: upTo(n)}.tree()
	var locks, mounts, inet, unix strings.Builder
	inet.WriteString("  sl  local_address rem_address   st\n")
	unix.WriteString("Num       RefCount Protocol Flags    Type St Inode Path\n")
	for i := range n {
		fmt.Fprintf(&locks, "%d: POSIX  ADVISORY  WRITE %d 00:06:1028 %d EOF\n", i+1, 100+i, i)
		fmt.Fprintf(&mounts, "/dev/sd%d /mnt/%d ext4 rw,relatime 0 0\ntmpfs /run/%d tmpfs rw 0 0\n", i, i, i)
		fmt.Fprintf(&inet, "%4d: 0100007F:%04X 00000000:0000 %02X 00000000:00000000\n", i, i, 1+i%11)
		fmt.Fprintf(&unix, "0000000000000000: 00000002 00000000 00010000 0001 01 %d /run/%d\n", i, i)
	}
	f["proc/locks"], f["proc/self/mounts"], f["proc/net/unix"] = locks.String(), mounts.String(), unix.String()
	for _, name := range []string{"tcp", "tcp6", "udp", "udp6", "raw", "raw6"} {
		f["proc/net/"+name] = inet.String()
	}
	return f
}

// TestLinear checks that the work of a fetch of all metrics grows linearly with the machine: no
// file is read again for each device.
func TestLinear(t *testing.T) {
	const most = 3 // maximum reads of a file: mounts have three kinds of metrics
	var last work
	for _, n := range []int{50, 100, 200, 400} {
		tree := linearTree(n)
		size, count := 0, 0
		for name, text := range tree {
			if strings.HasPrefix(text, "->") || strings.HasSuffix(name, "/") {
				continue
			}
			size += len(text)
			count++
		}
		fetch := steadyFetch(t, tree.write(t), "")
		fetch()
		before := workSoFar(t)
		fetch()
		now := workSoFar(t)
		did := work{bytes: now.bytes - before.bytes, calls: now.calls - before.calls}
		const page = 4096
		if did.bytes < size/2 || did.bytes > most*size || did.calls > most*(count+size/page) {
			t.Errorf("with %d of everything, %d bytes are read in %d calls, of %d files with %d bytes", n, did.bytes, did.calls, count, size)
		}
		// Twice the machine may take twice the work plus a constant.
		if last != (work{}) && (did.bytes > 2*last.bytes+10*page || did.calls > 2*last.calls+100) {
			t.Errorf("with %d of everything, %d bytes are read in %d calls; with half of it, %d in %d", n, did.bytes, did.calls, last.bytes, last.calls)
		}
		last = did
	}
}

// work counts the reads of this process.
type work struct{ bytes, calls int }

func workSoFar(t *testing.T) work {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip("this kernel does not count what is read: ", err)
	}
	var k procfile.KeyedNumbers
	bytes, calls := k.Index("rchar"), k.Index("syscr")
	for line := range procfile.Lines(text) {
		k.ParseLine(line)
	}
	b, ok1 := k.Get(bytes)
	c, ok2 := k.Get(calls)
	if !ok1 || !ok2 {
		t.Fatalf("/proc/self/io: %s", text)
	}
	return work{int(b), int(c)}
}
