package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// startTables is what the log of a collector says of its start, with words for what differs between
// two runs.
func startTables(log, socket string, port, envPort int) string {
	log = strings.ReplaceAll(log, socket, "SOCKET")
	log = strings.ReplaceAll(log, strconv.Itoa(port), " PORT")
	log = strings.ReplaceAll(log, strconv.Itoa(envPort), "EPORT")
	var out []string
	for line := range strings.SplitSeq(log, "\n") {
		switch {
		case strings.HasPrefix(line, "["), strings.HasPrefix(line, "Log for"), strings.HasPrefix(line, "pmcd  "), strings.HasPrefix(line, `Cleanup "`):
			continue // our own agent is not of the configuration, and the end is not of the start
		case strings.HasPrefix(line, "pmcd: PID"):
			line = regexp.MustCompile(`PID = \d+`).ReplaceAllString(line, "PID = N")
		case strings.HasPrefix(line, "sample "):
			line = regexp.MustCompile(`(29) [ \d]{4}\d [ \d]{2}\d [ \d]{2}\d`).ReplaceAllString(line, "$1 .PID. IN. OUT")
		case strings.HasPrefix(line, "  ok "):
			line = regexp.MustCompile(`ok  [ \d]{3}\d`).ReplaceAllString(line, "ok   FD")
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// TestStartTables compares the log of C pmcd at its start with ours: the agents, the rules of
// access and the ports.
func TestStartTables(t *testing.T) {
	pcptest.Need(t, "pmcd")
	envPort := func() (int, []string) {
		p := pcptest.FreePort(t)
		return p, []string{fmt.Sprintf("PMCD_PORT=%d", p)}
	}
	cPort, cEnv := envPort()
	args := []string{"-i", "INADDR_LOOPBACK"} // besides 127.0.0.1, so that a port is in use
	c := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"sample"}, Access: "allow \"unix:\" : all;", Args: args, Env: cEnv})
	set, dir := pcptest.Agents(t, "sample"), t.TempDir()
	conf, names := filepath.Join(dir, "pmcd.conf"), filepath.Join(dir, "pmns")
	for path, text := range map[string]string{conf: set.Conf + "[access]\nallow \"unix:\" : all;\n", names: set.PMNS} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	port, env := envPort()
	args = append([]string{"-f", "-l", "-", "-i", "127.0.0.1", "-c", conf, "-n", names, "-q", "60", "-t", "60"}, args...)
	p, host, socket := start(t, append(set.Env, env...), args...)
	ourPort, err := strconv.Atoi(strings.TrimPrefix(host, "localhost:"))
	if err != nil {
		t.Fatal(err)
	}
	p.Stop()                           // all of its log is written
	edit := func(text string) string { // the agents have their logs in directories of their own
		return regexp.MustCompile(`-l \S+`).ReplaceAllString(text, "-l LOG")
	}
	want := edit(startTables(c.Log(), c.Socket(), c.Port(), cPort))
	got := edit(startTables(p.Log(), socket, ourPort, port))
	got, _, _ = strings.Cut(got, "\n\nLog finished")
	if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(p.Log(), "Info: pmcd caught SIG") || !strings.Contains(p.Log(), "Info: pmcd Shutdown\n") {
		t.Errorf("the log does not say why the program has ended:\n%s", p.Log())
	}
}
