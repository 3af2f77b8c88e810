package readme

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// moduleRoot is the directory of this module.
func moduleRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// rootFile reads a file of this module.
func rootFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleRoot(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// shellBlock finds the block of the README with commands for a shell that begins with what a
// pattern says, and the last Go program above it.
func shellBlock(t *testing.T, begin string) (commands, program string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a shell")
	}
	text := rootFile(t, "README.md")
	block := regexp.MustCompile("(?ms)^```\n(" + begin + ".*?)^```$").FindStringSubmatchIndex(text)
	if block == nil {
		t.Fatalf("the README has no commands that begin with %s", begin)
	}
	programs := goBlock.FindAllStringSubmatch(text[:block[0]], -1)
	if programs == nil {
		t.Fatalf("the README has no program above the commands that begin with %s", begin)
	}
	return text[block[2]:block[3]], programs[len(programs)-1][1]
}

// untilServed is a command for "sleep 1" in the README, as long as it takes on a busy machine: until the collector that
// was started last serves a client.
func untilServed(pminfo, port string) string {
	return "until " + pminfo + " -h localhost:" + port + " -f pmcd.numagents >/dev/null 2>&1; do kill -0 $!; sleep 0.1; done"
}

// runShell runs commands of the README in a directory, until one fails, and ends what they have started. They have a
// port of their own, and make their programs in the directory bin. It returns what they print.
func runShell(t *testing.T, dir, bin, commands string, env ...string) (string, error) {
	t.Helper()
	port := fmt.Sprint(pcptest.FreePort(t))
	commands = strings.NewReplacer("44399", port, "sleep 1", untilServed(filepath.Join(bin, "pminfo"), port),
		"pmcd -f ", "pmcd -f -q 60 ", // a busy machine starts agents slowly
		"kill $!", "kill $!; wait $! || true").Replace(commands)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-e")
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader("trap 'kill $! 2>/dev/null || true' EXIT\n" + commands)
	cmd.Env = append(append(os.Environ(), "PCP_DERIVED_CONFIG="), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
