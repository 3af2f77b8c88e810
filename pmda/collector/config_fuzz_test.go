package collector

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzConfig reads any text. A fault is a ConfigError, without a Config unless
// it is in an agent's line; the agents of an accepted text, printed, read back
// the same; and rules can be checked and written.
func FuzzConfig(f *testing.F) {
	for _, c := range slices.Concat(agentCases, accessCases) {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		conf, err := testLoader().Parse("f", strings.NewReader(text))
		if err != nil {
			if _, ok := errors.AsType[*ConfigError](err); !ok {
				t.Fatalf("got error %#v", err)
			}
		}
		if conf == nil {
			if err == nil {
				t.Fatal("no Config and no error")
			}
			return
		}
		var b strings.Builder
		for _, a := range conf.Agents {
			line := a.String()
			if len(line) > maxConfigLine {
				return // quotes and escapes can make it longer than it was
			}
			b.WriteString(line + "\n")
		}
		back, err := testLoader().Parse("printed", strings.NewReader(b.String()))
		if err != nil {
			t.Fatalf("printed: %v\n%s", err, &b)
		}
		if diff := cmp.Diff(conf.Agents, back.Agents, cmpopts.IgnoreFields(AgentConfig{}, "Line")); diff != "" {
			t.Fatalf("read back (-want +got):\n%s", diff)
		}
		for _, peer := range []net.Addr{nil, tcp("127.0.0.1"), tcp("1.2.3.4"), tcp("fe80::1")} {
			denied, release, err := conf.Access.CheckHost(peer)
			if (denied == OpAll) != (err != nil) {
				t.Fatalf("%v: got %v, %v", peer, denied, err)
			}
			release()
		}
		denied, release, err := conf.Access.CheckAccount(999, 995)
		if (denied == OpAll) != (err != nil) {
			t.Fatalf("account: got %v, %v", denied, err)
		}
		release()
		var tables strings.Builder
		if err := conf.Access.WriteTables(&tables); err != nil || tables.Len() == 0 {
			t.Fatal(err)
		}
	})
}
