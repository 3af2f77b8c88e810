package readme

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestPush runs the commands of the README that push an archive, with a collector, on ports of their own.
func TestPush(t *testing.T) {
	commands, _ := shellBlock(t, "go run ./examples/pmproxy --push")
	dir := pcptest.ShortDir(t)
	port, gateway := fmt.Sprint(pcptest.FreePort(t)), fmt.Sprint(pcptest.FreePort(t))
	env := []string{"PCP_TLSCONF_PATH=", "PCP_TMP_DIR=" + dir, "PCP_RUN_DIR=" + dir, "PCP_ARCHIVE_VERSION=3"}
	pcptest.Start(t, pcptest.Daemon{Path: pcptest.Build(t, "./examples/pmcd"), Args: []string{"-p", port, "-s", filepath.Join(dir, "s")},
		Dir: dir, Env: env, Addr: "localhost:" + port, Greets: true})
	commands = strings.NewReplacer("-h localhost", "-h localhost:"+port, "44322", gateway, "/tmp/received", filepath.Join(dir, "received"), "5sec", "2sec").Replace(commands)
	commands = regexp.MustCompile(`go run \./examples/\w+`).ReplaceAllStringFunc(commands, func(s string) string {
		return pcptest.Build(t, strings.TrimPrefix(s, "go run "))
	})
	first, rest, ok := strings.Cut(commands, " &\n")
	if !ok {
		t.Fatalf("no gateway in:\n%s", commands)
	}
	args := append(strings.Fields(first), "-p", gateway)
	pcptest.Start(t, pcptest.Daemon{Path: args[0], Args: args[1:], Dir: dir, Env: env, Addr: "localhost:" + gateway})
	cmd := exec.CommandContext(t.Context(), "sh", "-e")
	cmd.Dir, cmd.Stdin, cmd.Env = dir, strings.NewReader(rest), append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if log, _ := os.ReadFile(filepath.Join(dir, "push.log")); err != nil || !strings.Contains(string(out), "(kernel.all.load):\n        inst [1 or \"1 minute\"] value ") {
		t.Errorf("%v:\n%s\nwhat they print:\n%s\npush.log:\n%s", err, rest, out, log)
	}
}
