package sample_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestInteropControls stores into the metrics that control the agent's later behavior.
func TestInteropControls(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmstore", "pmval", "pmprobe", "newhelp", "pmnsmerge")
	want, got := collectors(t)
	all := append(want, got...)
	sessions := make([][]string, len(all))
	var wg sync.WaitGroup
	for i, c := range all {
		wg.Go(func() {
			for _, command := range c.controls() {
				sessions[i] = append(sessions[i], strings.Split(c.run(t, command), "\n")...)
			}
		})
	}
	wg.Wait()
	for i, c := range got {
		for j := range want {
			if want[j].prefix != c.prefix {
				continue
			}
			if diff := cmp.Diff(sessions[j], sessions[len(want)+i]); diff != "" {
				t.Errorf("%s (-C +Go):\n%s", c.name, diff)
			}
		}
	}
}

// controls are commands that store all kinds of values into such a metric, and ask what has come of
// each.
//
// The error PM_ERR_IPC is not among them: PCP's pmcd ends an agent that replies so, which ours does
// not do. Nor are errors of an agent inside PCP's pmcd, which makes an empty result of a fetch that
// fails as a whole.
func (c collector) controls() (commands []string) {
	for _, m := range []struct{ name, values, then string }{
		{"error_code", "1 -1 -12345 -12357 99999999999 abc 0", "pminfo -fdt %s.error_code %s.error_check %s.colour"},
		{"error_check", "-12357 abc 0", "pminfo -f %s.error_code %s.error_check"},
		{"many.count", "0 1 7 -1 25 1.5 abc 5", "pminfo -f %s.many"},
		{"controller.mirage", "abc 1.5 -1 2000000", "pminfo -f %s.controller.mirage"},
		{"control", "abc 99999999999 1 2 3 4 5 -2 0", "pminfo -f %s.control %s.long.ten"},
		{"not_ready", "abc 99999999999 0", "pminfo -f %s.not_ready %s.long.ten"},
	} {
		if m.name == "error_code" && c.prefix == "sampledso" {
			continue
		}
		for _, v := range strings.Fields(m.values) {
			commands = append(commands, "pmstore %s."+m.name+" "+v, m.then)
		}
	}
	return commands
}
