package pmlc

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/pcp-go/pcp/internal/logconf"
)

func rule(allow bool, ops logconf.Ops, hosts ...string) logconf.Rule {
	return logconf.Rule{Allow: allow, Ops: ops, Hosts: hosts, Place: logconf.Place{File: "f", Line: 3}}
}

func TestAccess(t *testing.T) {
	const all, change = logconf.OpAll, logconf.OpAdvisory | logconf.OpMandatory
	tcp := func(addr string) net.Addr {
		return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(addr), 4))
	}
	unix := &net.UnixAddr{Net: "unix", Name: "1.2.3.4:5"}
	for _, tt := range []struct {
		name  string
		rules []logconf.Rule
		peer  net.Addr
		want  logconf.Ops
	}{
		{"not mentioned", []logconf.Rule{rule(false, all, "1.2.3.4")}, tcp("1.2.3.5"), 0},
		{"mentioned", []logconf.Rule{rule(false, all, "1.2.3.4")}, tcp("1.2.3.4"), all},
		{"mapped", []logconf.Rule{rule(false, change, "1.2.3.4")}, tcp("::ffff:1.2.3.4"), change},
		{"second host", []logconf.Rule{rule(false, all, "1.2.3.4", "1.2.3.5")}, tcp("1.2.3.5"), all},
		{"narrower wins", []logconf.Rule{rule(false, all, ".*"), rule(true, logconf.OpEnquire, "1.2.*")}, tcp("1.2.3.4"), change},
		{"in any order", []logconf.Rule{rule(true, logconf.OpEnquire, "1.2.*"), rule(false, all, ".*")}, tcp("1.2.3.4"), change},
		{"the same hosts", []logconf.Rule{rule(false, change, "1.2.*"), rule(true, logconf.OpEnquire, "1.2.*"), rule(false, all, ".*")}, tcp("1.2.3.4"), change},
		{"another family", []logconf.Rule{rule(false, all, ".*")}, tcp("2001::1"), 0},
		{"unix", []logconf.Rule{rule(false, all, ".*", ":*")}, unix, 0},
		{"unix mentioned", []logconf.Rule{rule(false, change, "unix:*")}, unix, change},
		{"everybody", []logconf.Rule{rule(false, change, "*")}, unix, change},
		{"local", []logconf.Rule{rule(false, all, "*"), rule(true, all, "localhost")}, tcp("127.0.0.1"), 0},
		{"local socket", []logconf.Rule{rule(false, all, ".*"), rule(true, all, "local:*")}, unix, 0},
	} {
		a, err := NewAccess(tt.rules)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := a.denied(tt.peer); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
	if a, err := NewAccess(nil); a != nil || err != nil || a.denied(unix) != 0 {
		t.Errorf("without rules: %v, %v", a, err)
	}
}

func TestAccessErrors(t *testing.T) {
	for _, tt := range []struct {
		name    string
		rules   []logconf.Rule
		warning bool
	}{
		{"unknown host", []logconf.Rule{rule(false, logconf.OpAll, "no.such.host.invalid")}, true},
		{"wildcard inside", []logconf.Rule{rule(false, logconf.OpAll, "1.*.3")}, false},
		{"contradiction", []logconf.Rule{rule(false, logconf.OpAll, "*"), rule(true, logconf.OpAll, "unix:*")}, false},
	} {
		a, err := NewAccess(tt.rules)
		e, ok := errors.AsType[*RuleError](err)
		if !ok || e.Warning != tt.warning || (a != nil) != tt.warning || e.Line != 3 {
			t.Errorf("%s: %v, %v", tt.name, a, err)
		}
	}
}
