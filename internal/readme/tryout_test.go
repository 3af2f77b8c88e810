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

// untilServed is a command for "sleep 1" in the README, as long as it takes on a busy machine: until the collector that
// was started last serves a client.
func untilServed(pminfo, port string) string {
	return "until " + pminfo + " -h localhost:" + port + " -f pmcd.numagents >/dev/null 2>&1; do kill -0 $!; sleep 0.1; done"
}

// TestTryOut runs the commands of the README that try an agent, in a directory with
// nothing but the program above them in it, and those that add the Linux agent.
func TestTryOut(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a shell")
	}
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?ms)^```\n(go mod init cache.*?)^```$").FindSubmatchIndex(text)
	if block == nil {
		t.Fatal("the README has no such commands")
	}
	more := regexp.MustCompile("(?ms)^```\n(go build -o . [^\n]*/pmdalinux\n.*?)^```$").FindSubmatch(text)
	if more == nil {
		t.Fatal("the README has no commands that add the Linux agent")
	}
	steps, wants := string(text[block[2]:block[3]]), []string{"\ncache.hits\n    value 17\n"}
	if runtime.GOOS == "linux" {
		steps += string(more[1])
		wants = append(wants, wants[0]+"\nkernel.all.load\n    inst [1 or \"1 minute\"] value ")
	}
	programs := goBlock.FindAllSubmatch(text[:block[0]], -1)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := pcptest.ShortDir(t)
	for name, content := range map[string][]byte{"main.go": programs[len(programs)-1][1], "go.sum": sums} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// This module stands in for the one that is published.
	port := fmt.Sprint(pcptest.FreePort(t))
	commands := strings.NewReplacer(
		"go get github.com/pcp-go/pcp", "go mod edit -require github.com/pcp-go/pcp@v0.0.0 -replace github.com/pcp-go/pcp="+root+" && go mod tidy",
		"44399", port, "sleep 1", untilServed("./pminfo", port),
		"kill $!", "kill $!; wait $! || true").Replace(steps)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-e")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader("trap 'kill $! 2>/dev/null || true' EXIT\n"+commands)
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "PCP_DERIVED_CONFIG=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Error(err)
	}
	for _, want := range wants {
		if !strings.Contains(string(out), want) {
			t.Errorf("the commands do not print %q", want)
		}
	}
	if t.Failed() {
		log, _ := os.ReadFile(filepath.Join(dir, "pmcd.log"))
		t.Errorf("commands:\n%s\nwhat they print:\n%s\npmcd.log:\n%s", commands, out, log)
	}
}
