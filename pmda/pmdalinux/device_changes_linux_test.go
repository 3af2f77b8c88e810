package pmdalinux_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
)

// TestDevicesChange fetches everything with several clients while devices come and go, some during
// a reading. Each fetch must have a set for each metric, and the agent must not panic. After all
// devices are removed, none of their files is open.
func TestDevicesChange(t *testing.T) {
	root := t.TempDir()
	change := func(n int) {
		writeDevices(t, root, n)
		var nets string
		for i := range n {
			nets += fmt.Sprintf(" eth%d: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", i)
			cpu, disk, net := fmt.Sprintf("sys/devices/system/cpu/cpu%d", i), fmt.Sprintf("sys/block/nvme%dn1", i), fmt.Sprintf("sys/class/net/eth%d", i)
			if err := os.RemoveAll(filepath.Join(root, cpu)); err != nil {
				t.Error(err)
			}
			write(t, root, cpu+"/online", "1\n")
			write(t, root, cpu+"/cpufreq/stats/time_in_state", "1000 5\n")
			write(t, root, disk+"/queue/scheduler", "[none]\n")
			write(t, root, disk+"/wwid", fmt.Sprintf("naa.%d\n", i/2))
			write(t, root, net+"/mtu", "1500\n")
			write(t, root, fmt.Sprintf("sys/devices/system/node/node%d/cpu%d/online", i/4, i), "1\n")
			write(t, root, fmt.Sprintf("sys/devices/system/node/node%d/meminfo", i/4), "Node 0 MemTotal: 5 kB\n")
		}
		write(t, root, "proc/net/dev", "Inter-|\n face |bytes\n"+nets)
	}
	change(8)
	our := ourAgent(t, root)
	f := newFetcher(t, agentMetrics(t, our), our)
	a, err := pmdalinux.New(pmdalinux.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer // errors only; a handler writes one record at a time
	a.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
	var clients sync.WaitGroup
	done := make(chan struct{})
	for c := range 4 {
		clients.Go(func() {
			r := &pmda.Request{Client: &pmda.Client{ID: uint32(c)}, Profile: new(pdu.Profile)}
			var w pdu.ResultWriter
			for {
				w.Reset()
				if err := a.Fetch(t.Context(), r, f.ids, &w); err != nil || !w.HasSets(f.ids) {
					t.Errorf("a fetch has %d sets of %d: %v", w.Len(), len(f.ids), err)
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for range 20 {
		change(rand.IntN(16))
	}
	close(done)
	clients.Wait()
	writeDevices(t, root, 0)
	write(t, root, "proc/net/dev", "Inter-|\n face |bytes\n")
	var w pdu.ResultWriter
	if err := a.Fetch(t.Context(), &pmda.Request{Client: &pmda.Client{}, Profile: new(pdu.Profile)}, f.ids, &w); err != nil {
		t.Error(err)
	}
	if s := log.String(); s != "" {
		t.Error(s)
	}
	for _, dir := range []string{"/sys/devices/system/cpu", "/sys/block", "/sys/class/net"} {
		if n := openBelow(t, root+dir); n > 0 {
			t.Errorf("%d files below %s are still open", n, dir)
		}
	}
}
