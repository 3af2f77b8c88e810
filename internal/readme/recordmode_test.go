package readme

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// runRecordMode runs a program that records examples/pmcd, and then what the README shows of pmafm.
func runRecordMode(t *testing.T, src, text string) {
	if runtime.GOOS != "linux" {
		t.Skip("it needs the metrics of a Linux kernel")
	}
	src, addr := somewhere(t, replace(t, src, "10 * time.Second", "2500*time.Millisecond"))
	_, port, _ := strings.Cut(addr, ":")
	pcptest.Start(t, pcptest.Daemon{Path: pcptest.Build(t, "./examples/pmcd"), Args: []string{"-p", port, "-s", filepath.Join(pcptest.ShortDir(t), "s")},
		Dir: t.TempDir(), Addr: addr, Greets: true})
	dir := t.TempDir()
	out, errs, status := pcptest.RunIn(t, dir, nil, "", build(t, src))
	if status != 0 || errs != "" || !regexp.MustCompile(`^[1-9]\d+ bytes in [23]s\n$`).MatchString(out) {
		t.Fatalf("exit status %d, %s\n%s", status, errs, out)
	}
	commands := regexp.MustCompile("(?m)^pmafm monday.folio .*$").FindAllString(text, -1)
	if len(commands) != 2 {
		t.Fatalf("commands of pmafm: %q", commands)
	}
	// Tools of this module, and a configuration that knows them.
	tools := filepath.Join(dir, "config", "pmafm")
	if err := os.MkdirAll(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tools, "tools"), []byte("SINGLE=pmval\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	env := []string{"PCP_VAR_DIR=" + dir, "HOME=" + dir, "PATH=" + filepath.Dir(pcptest.Build(t, "./examples/pmval")) + ":" + os.Getenv("PATH")}
	for i, want := range []string{"Creator: reader", "1 minute"} {
		args := append([]string{pcptest.Build(t, "./examples/pmafm")}, strings.Fields(commands[i])[1:]...)
		out, errs, status := pcptest.RunIn(t, dir, env, "", args...)
		if status != i^1 || errs != "" || !strings.Contains(out, addr) || !strings.Contains(out, want) {
			t.Errorf("%s: exit status %d, %s\n%s", commands[i], status, errs, out)
		}
	}
}
