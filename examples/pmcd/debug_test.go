package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// debugMasks hide what differs between two collectors with the same clients: numbers of processes, descriptors and features, times,
// what C pmcd prints between PDUs of the values in them, and the numbers of clients: it may see the next one before the end of that before.
var debugMasks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`(?m)^\[\d+\]pm`), "pm"},
	{regexp.MustCompile(`fd=\d+|\(fd \d+\)`), "FD"},
	{regexp.MustCompile(`AcceptNewClient\(\d+\)`), "AcceptNewClient(FD)"},
	{regexp.MustCompile(`from=\d+`), "from=N"},
	{regexp.MustCompile(`pid=\d+`), "pid=N"},
	{regexp.MustCompile(`(?m)^( +\d+ +7000 +0 +0 ).*`), "$1 FEATURES"},
	{regexp.MustCompile(`(?m)^(000: +\w+ +7000 +0 +0 ).*`), "${1}FEATURES"},
	{regexp.MustCompile(`(?m)^(000: +\w+ +700c ).*`), "${1}CREDS"},
	{regexp.MustCompile(`(?m)^(000: +\w+ +(?:7001|7015) +\w+ ).*`), "${1}RESULT"},
	{regexp.MustCompile(`(?m)^ +-?\d+  (\S+ +\d)$`), "CLIENT ${1}"},
	{regexp.MustCompile(`pmXmitPDU: ERROR FD len=16\n000: +10 +7000 +\d+ 99cfffff \n`), ""}, // the end of a client, which ours tells agents that know it
	{regexp.MustCompile(`(?m)^(000: +\w+ +70\w\w +)\d+ `), "${1}CLIENT "},
	{regexp.MustCompile(`client\[\d+\]`), "client[N]"},
}

// debugOf is what a collector prints with a debug option that is not in its log without: the lines that a pattern matches.
func debugOf(log string, pattern *regexp.Regexp) []string {
	_, log, _ = strings.Cut(log, "=======\n") // the table of ports is the last at the start
	for _, m := range debugMasks {
		log = m.pattern.ReplaceAllString(log, m.with)
	}
	var lines []string
	for line := range strings.SplitSeq(log, "\n") {
		if pattern.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// ended is what both print with appl0 at the end of a client.
var ended = regexp.MustCompile(`(?m)^endclient`)

// untilEnded has a client come to a collector with the debug option appl0, and waits until the collector has seen its end, 10 s at most:
// the next client might come before.
func untilEnded(log func() string, client func()) {
	count := func() int { return len(ended.FindAllStringIndex(log(), -1)) }
	before := count()
	client()
	for deadline := time.Now().Add(10 * time.Second); count() == before && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
}

// TestInteropDebug compares what C pmcd and ours print with debug options while the same clients come.
func TestInteropDebug(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmstore")
	for option, pattern := range map[string]*regexp.Regexp{
		"pdu":   regexp.MustCompile(`^(pmGetPDU|pmXmitPDU|\d\d\d:)`),
		"appl0": regexp.MustCompile(`^(AcceptNewClient|DATA: |SendFetch|  pmid|PDU: |endclient|CLIENT|     fd|     ==)`),
	} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			set, dir := pcptest.Agents(t, "sample"), t.TempDir()
			conf, names := filepath.Join(dir, "pmcd.conf"), filepath.Join(dir, "pmns")
			for path, text := range map[string]string{conf: set.Conf, names: set.PMNS} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"sample"}, Args: []string{"-D", option + ",appl0"}})
			p, host, _ := start(t, set.Env, "-f", "-l", "-", "-i", "127.0.0.1", "-c", conf, "-n", names, "-D", option+",appl0")
			look := func(host string, log func() string) {
				for _, args := range []string{"pminfo -d -f sample.colour sample.long.one", "pminfo -t sample.colour", "pminfo sample.nosuch",
					"pmstore sample.long.write_me 3", "pmstore sample.long.one 3"} {
					command := strings.Fields(args)
					untilEnded(log, func() { pcptest.Run(t, nil, "", append([]string{command[0], "-h", host}, command[1:]...)...) })
				}
			}
			look(c.Host(), c.Log)
			look(host, p.Log)
			c.Stop()
			p.Stop()
			// The first client is the test's, which looks whether the collector is there; at the end C pmcd says nothing of clients.
			want, got := fromSecond(debugOf(c.Log(), pattern)), fromSecond(debugOf(p.Log(), pattern))
			if diff := cmp.Diff(want, got); diff != "" || len(want) < 30 {
				t.Errorf("%d lines (-C +Go):\n%s", len(want), diff)
			}
		})
	}
}

// fromSecond are the lines from the second client on.
func fromSecond(lines []string) []string {
	n := 0
	for i, line := range lines {
		if strings.HasPrefix(line, "AcceptNewClient") || strings.HasSuffix(line, "FEATURES") {
			if n++; n == 2 {
				return lines[i:]
			}
		}
	}
	return nil
}

// TestDebugOption: the option takes names and numbers, and may be there more than once.
func TestDebugOption(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-D pdu", "pdu"},
		{"-D pdu,fetch -D appl0", "appl0 fetch pdu"},
		{"-D 1 -D 2048", "appl0 pdu"},
		{"-D PDU", "pdu"},
	} {
		o := new(options)
		if _, errs := o.set().Parse(strings.Fields(tt.args)); errs != nil {
			t.Errorf("%s: %v", tt.args, errs)
		}
		for name := range strings.FieldsSeq(tt.want) {
			if !o.debug[name] {
				t.Errorf("%s: not %s", tt.args, name)
			}
		}
		if len(o.debug) != len(strings.Fields(tt.want)) {
			t.Errorf("%s: %v", tt.args, o.debug)
		}
	}
}
