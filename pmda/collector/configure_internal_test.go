package collector

import (
	"testing"

	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

func TestSameProcess(t *testing.T) {
	dso := pmcdconf.Agent{Name: "a", Domain: 2, Kind: "dso", Entry: "e", Path: "/p", Line: 1}
	sock := pmcdconf.Agent{Name: "a", Domain: 2, Kind: "socket", Network: "inet", Address: "80", Port: 80}
	pipe := pmcdconf.Agent{Name: "a", Domain: 2, Kind: "pipe", Argv: []string{"x", "y"}}
	tests := []struct {
		name   string
		a      pmcdconf.Agent
		change func(*pmcdconf.Agent)
		want   bool
	}{
		{"name and line", dso, func(a *pmcdconf.Agent) { a.Name, a.Line = "b", 7 }, true},
		{"domain", dso, func(a *pmcdconf.Agent) { a.Domain = 3 }, false},
		{"kind", dso, func(a *pmcdconf.Agent) { a.Kind = "pipe" }, false},
		{"entry", dso, func(a *pmcdconf.Agent) { a.Entry = "f" }, false},
		{"path", dso, func(a *pmcdconf.Agent) { a.Path = "/q" }, false},
		{"port by name", sock, func(a *pmcdconf.Agent) { a.Address = "http" }, true},
		{"port", sock, func(a *pmcdconf.Agent) { a.Address, a.Port = "81", 81 }, false},
		{"family", sock, func(a *pmcdconf.Agent) { a.Network = "ipv6" }, false},
		{"command", sock, func(a *pmcdconf.Agent) { a.Argv = []string{"x"} }, false},
		{"arguments", pipe, func(a *pmcdconf.Agent) { a.Argv = []string{"x", "z"} }, false},
		{"ready", pipe, func(a *pmcdconf.Agent) { a.NotReady = true }, false},
		{"nothing", pipe, func(a *pmcdconf.Agent) {}, true},
	}
	for _, tt := range tests {
		b := tt.a
		tt.change(&b)
		if got := sameProcess(tt.a, b); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
