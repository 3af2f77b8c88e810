package readme

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestTryOut runs the commands of the README that try an agent, in a directory with
// nothing but the program above them in it, and those that add the Linux agent.
func TestTryOut(t *testing.T) {
	steps, program := shellBlock(t, "go mod init cache")
	more, _ := shellBlock(t, `go build -o . [^\n]*/pmdalinux\n`)
	wants := []string{"\ncache.hits\n    value 17\n"}
	if runtime.GOOS == "linux" {
		steps += more
		wants = append(wants, wants[0]+"\nkernel.all.load\n    inst [1 or \"1 minute\"] value ")
	}
	dir := pcptest.ShortDir(t)
	for name, content := range map[string]string{"main.go": program, "go.sum": rootFile(t, "go.sum")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// This module stands in for the one that is published.
	commands := strings.ReplaceAll(steps, "go get github.com/pcp-go/pcp",
		"go mod edit -require github.com/pcp-go/pcp@v0.0.0 -replace github.com/pcp-go/pcp="+moduleRoot(t)+" && go mod tidy")
	out, err := runShell(t, dir, dir, commands, "GOFLAGS=-mod=mod", "GOPROXY=off")
	if err != nil {
		t.Error(err)
	}
	for _, want := range wants {
		if !strings.Contains(out, want) {
			t.Errorf("the commands do not print %q", want)
		}
	}
	if t.Failed() {
		log, _ := os.ReadFile(filepath.Join(dir, "pmcd.log"))
		t.Errorf("commands:\n%s\nwhat they print:\n%s\npmcd.log:\n%s", commands, out, log)
	}
}
