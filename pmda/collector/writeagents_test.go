//go:build unix

package collector

import (
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// greetAgents runs a socket agent.
func greetAgents(t *testing.T, l net.Listener) {
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := pdu.AgentHello(pdu.NewConn(c), 1, 0); err != nil {
				c.Close()
			}
		}
	}()
}

// TestWriteAgents checks the table with one agent of each kind, and that it omits an agent that is
// not connected.
func TestWriteAgents(t *testing.T) {
	path := filepath.Join(pcptest.ShortDir(t), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	greetAgents(t, l)
	s := withTime(t, &Server{NoRestart: true, DSO: map[string]func(pdu.Domain) (pmda.Handler, error){
		"own_init": func(d pdu.Domain) (pmda.Handler, error) { return collectortest.EmptyAgent("own", d), nil },
	}})
	for _, conf := range []pmcdconf.Agent{
		programLine("good"),
		{Name: "averylongname", Domain: 400, Kind: "socket", Network: "unix", Address: path},
		{Name: "own", Domain: 9, Kind: "dso", Entry: "own_init", Path: "/lib/pmda_own.so"},
	} {
		if err := s.StartAgent(conf); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	if err := s.WriteAgents(&b); err != nil || !strings.Contains(b.String(), "=\npmcd           2                 2 dso in-process\n") {
		t.Errorf("the Server's own agent without a line: %v\n%s", err, &b)
	}
	b.Reset()
	if err := s.StartAgent(pmcdconf.Agent{Name: "collector", Domain: 2, Kind: "dso", Entry: "pmcd_init", Path: "/lib/pmda_pmcd.so"}); err != nil {
		t.Error(err)
	}
	s.StartAgent(pmcdconf.Agent{Name: "none", Domain: 8, Kind: "pipe", Argv: []string{"/nonexistent"}})
	if err := s.WriteAgents(&b); err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`(?m)^(program +30) [ \d]{4}\d [ \d]{2}\d [ \d]{2}\d`).ReplaceAllString(b.String(), "$1   PID  IN OUT")
	got = regexp.MustCompile(`-1 [ \d]{2}\d [ \d]{2}\d`).ReplaceAllString(got, "-1  IN OUT")
	want := `
active agent dom   pid  in out ver protocol parameters
============ === ===== === === === ======== ==========
program       30   PID  IN OUT   2 bin pipe cmd=` + strings.Join(programArgv("good"), " ") + `
averylongname 400    -1  IN OUT   2 bin sock dom=unix port=` + path + `
own            9                 2 dso i:7  lib=/lib/pmda_own.so entry=own_init
collector      2                 2 dso i:6  lib=/lib/pmda_pmcd.so entry=pmcd_init
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestParameters checks that a port that is given by name is followed by its number.
func TestParameters(t *testing.T) {
	for _, tt := range []struct {
		conf pmcdconf.Agent
		want string
	}{
		{pmcdconf.Agent{Kind: "socket", Network: "inet", Address: "2049", Port: 2049}, "sock dom=inet port=2049"},
		{pmcdconf.Agent{Kind: "socket", Network: "ipv6", Address: "nfs", Port: 2049, Argv: []string{"/bin/a", "b c"}},
			"sock dom=ipv6 port=nfs (2049) cmd=/bin/a b c"},
	} {
		a := &agent{kind: tt.conf.Kind, conf: tt.conf, argv: tt.conf.Argv}
		if got := a.parameters(); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.conf, got, tt.want)
		}
	}
}
