package pmdalinux_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
)

// hostileScript turns its process into a container that has mounted its own files over the kernel's
// in /sys. Some of them are links that lead out of the container.
const hostileScript = `set -e
mount --make-rprivate /
mount -t sysfs sysfs /sys
if [ "$1" = all ]; then
	mount -t tmpfs none /sys
	mkdir -p /sys/class
	ln -s "$OUTSIDE" /sys/class/net
elif [ "$1" = class ]; then
	mount -t tmpfs none /sys/class/net
	mkdir /sys/class/net/lo
	ln -s "$OUTSIDE/lo/address" /sys/class/net/lo/address
	echo 777 > /sys/class/net/lo/mtu
elif [ "$1" = device ]; then
	mount -t tmpfs none /sys/devices/virtual/net/lo
	ln -s "$OUTSIDE/lo/address" /sys/devices/virtual/net/lo/address
	echo 777 > /sys/devices/virtual/net/lo/mtu
fi
echo ready
exec cat
`

// TestHostileContainer checks that the agent reads only the kernel's files in a container's /sys.
// Otherwise it would follow the container's links to files of the machine, and wait for its pipes.
func TestHostileContainer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making a container, and looking into it, needs root")
	}
	outside := t.TempDir()
	if err := os.Mkdir(filepath.Join(outside, "lo"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"address": "0b:ad:0b:ad:0b:ad\n", "mtu": "777\n"} {
		if err := os.WriteFile(filepath.Join(outside, "lo", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, over := range []string{"none", "all", "class", "device"} {
		t.Run(over, func(t *testing.T) {
			pid := pcptest.StartContainer(t, 0, []string{"OUTSIDE=" + outside}, hostileScript, over)
			a, err := pmdalinux.New(pmdalinux.Options{ContainerProcess: func(context.Context, string) (int, error) { return pid, nil }})
			if err != nil {
				t.Fatal(err)
			}
			got, err := fetchedText(t, a)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(got, "0b:ad") || strings.Contains(got, "777") {
				t.Errorf("the agent has read files of the container:\n%s", got)
			}
			if kernel := strings.Contains(got, "mtu 0=65536") && strings.Contains(got, "hw_addr 0=00:00:00:00:00:00"); kernel != (over == "none") {
				t.Errorf("the kernel's files were read: %t\n%s", kernel, got)
			}
			if !strings.Contains(got, "in.bytes 0=0\n") {
				t.Errorf("the network is not the container's:\n%s", got)
			}
		})
	}
}

func fetchedText(t *testing.T, a *pmda.Agent) (string, error) {
	t.Helper()
	return fetched(t, a, "hostile", "network.interface.mtu", "network.interface.hw_addr", "network.interface.in.bytes")
}
