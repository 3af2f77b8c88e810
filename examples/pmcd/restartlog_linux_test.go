package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestInteropRestartLog compares what C pmcd and ours, in its place, log of SIGHUP: with the same
// configuration, with a faulty one, and with one that has an agent less.
func TestInteropRestartLog(t *testing.T) {
	pcptest.Need(t, "pmcd")
	program, env := asInstalled(t)
	set := pcptest.Agents(t, "sample")
	mask := regexp.MustCompile(`\[[A-Z].*?\] pmcd\(\d+\)|sample +29.*`)
	run := func(program string, env []string) []string {
		dir := pcptest.ShortDir(t)
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write("conf", set.Conf)
		write("names", set.PMNS)
		socket := filepath.Join(dir, "socket")
		env = append(env, append(set.Env, "PCP_RUN_DIR="+dir, "PCP_LOG_DIR="+dir, "PCP_TMP_DIR="+dir, "PMCD_ROOT_AGENT=0")...)
		p := pcptest.Start(t, pcptest.Daemon{Path: program, Dir: dir, Env: env, Addr: socket, Greets: true,
			Args: append([]string{"-f", "-A", "-i", "127.0.0.1", "-p", fmt.Sprint(pcptest.FreePort(t)), "-s", socket, "-c", "conf", "-n", "names", "-l", "log"}, giveTime...)})
		log := func() string {
			b, _ := os.ReadFile(filepath.Join(dir, "log"))
			return string(b)
		}
		var logs []string
		for _, conf := range []string{set.Conf, "x 250 nonsense\n", "", set.Conf + "[access]\nallow * : all;\n"} {
			if conf != set.Conf {
				write("conf", conf)
			}
			before := log()
			if err := syscall.Kill(p.PID(), syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			wait(t, func() string {
				if after := log(); strings.HasPrefix(after, before) && strings.HasSuffix(after, "is unchanged\n") && after != before {
					return ""
				}
				return "no end of the reset:\n" + log()
			})
			text := mask.ReplaceAllString(stamp.ReplaceAllString(log()[len(before):], "TIME"), "MASK")
			text = regexp.MustCompile(`(?m)^pmcd .*\n|^ +-?\d+  \S+ +[02]\n`).ReplaceAllString(text, "") // our own agent is not of the configuration
			logs = append(logs, text)
		}
		before := log()
		p.Stop()
		end := mask.ReplaceAllString(stamp.ReplaceAllString(log()[len(before):], "TIME"), "MASK")
		return append(logs, regexp.MustCompile(`from .*`).ReplaceAllString(end, "from WHOM")) // a Go program is not told
	}
	if diff := cmp.Diff(run(pcptest.Tool(t, "pmcd"), nil), run(program, env)); diff != "" {
		t.Errorf("(-C +Go):\n%s", diff)
	}
}
