package pmdalinux_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
)

// goodPorts are serial ports of all kinds.
const goodPorts = `serinfo:1.0 driver revision:
0: uart:16550A port:000003F8 irq:4 tx:11 rx:22 fe:1 pe:2 brk:3 oe:4 RTS|CTS|DTR|DSR|CD
1: uart:unknown port:000002F8 irq:3
2: uart:16550A mmio:0xFE000000 irq:17 tx:5 rx:6 oe:7 bo:8 RTS
12: uart:16C950/954 port:0000D100 irq:18 tx:-2147483648 rx:-1
`

// TestSerialPorts compares the values of good and damaged files.
func TestSerialPorts(t *testing.T) {
	names := []string{"tty.serial.tx", "tty.serial.rx", "tty.serial.frame", "tty.serial.parity", "tty.serial.brk", "tty.serial.overrun", "tty.serial.irq"}
	nothing := strings.Join([]string{"tty.serial.brk", "tty.serial.frame", "tty.serial.irq", "tty.serial.overrun", "tty.serial.parity", "tty.serial.rx", "tty.serial.tx", ""}, "\n")
	for _, tt := range []struct {
		name string
		tree files
		want string
	}{
		{"good", files{"proc/tty/driver/serial": goodPorts}, `tty.serial.brk 0 "0" 3 1 "2" 0 2 "12" 0
tty.serial.frame 0 "0" 1 1 "2" 0 2 "12" 0
tty.serial.irq 0 "0" 4 1 "2" 17 2 "12" 18
tty.serial.overrun 0 "0" 4 1 "2" 7 2 "12" 0
tty.serial.parity 0 "0" 2 1 "2" 0 2 "12" 0
tty.serial.rx 0 "0" 22 1 "2" 6 2 "12" 4294967295
tty.serial.tx 0 "0" 11 1 "2" 5 2 "12" 2147483648
`},
		{"of what only the root user may know nothing is told", files{"proc/tty/driver/serial": "0: uart:16550A port:000003F8 irq:4\n"},
			strings.Replace(nothing, "irq", `irq 0 "0" 4`, 1)},
		{"damaged fields", files{"proc/tty/driver/serial": "0: uart:16550A irq:-4 tx:1 rx:2\n1: uart:16550A tx:x rx:99999999999 brk:5\n2: uart:16550A irq:7 tx:1 rx:2 fe: oe:3\n" +
			"3: uart:16550A tx:-2147483649 rx:4294967295 irq\n"}, `tty.serial.brk 0 "0" 0 1 "1" 5
tty.serial.frame 0 "0" 0
tty.serial.irq 2 "2" 7
tty.serial.overrun 0 "0" 0 2 "2" 3
tty.serial.parity 0 "0" 0
tty.serial.rx 0 "0" 2 2 "2" 2 3 "3" 4294967295
tty.serial.tx 0 "0" 1 2 "2" 1
`},
		{"damaged lines", files{"proc/tty/driver/serial": "\n:\n0\n1: tx:1 rx:2\nx: uart:16550A tx:1 rx:2\n-1: uart:16550A tx:1 rx:2\n\x00: uart:16550A tx:1 rx:2\n2: uart:16550A tx:1 rx:2"}, nothing},
		{"no file", files{}, nothing},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.tree.valuesOf(t, names...)); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
	root := files{"proc/tty/driver/serial": goodPorts}.write(t)
	t.Run("same as C", func(t *testing.T) { sameOnTree(t, root) })
	t.Run("not for everybody", func(t *testing.T) {
		other := func(c *pmda.Client) bool { return c.UID == os.Getuid()+1 }
		if diff := cmp.Diff(nothing, startAgent(t, pmdalinux.Options{Root: root, Trusts: other}).snapshot(names).String()); diff != "" {
			t.Error("(-want +got)\n", diff)
		}
	})
}
