package pmcdconf

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzParse reads arbitrary text. Parse must return a Config or an error, and an error must contain
// a fault. The agents of a Config must be the same after printing and reading them, and its rules
// must be usable.
func FuzzParse(f *testing.F) {
	for _, c := range slices.Concat(agentCases, accessCases) {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		conf, err := testLoader().parse("f", strings.NewReader(text))
		if err != nil {
			if _, ok := errors.AsType[*fault](err); !ok {
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
			if len(line) > maxLine {
				return // quotes and escapes can make the line too long
			}
			b.WriteString(line + "\n")
		}
		back, err := testLoader().parse("printed", strings.NewReader(b.String()))
		if err != nil {
			t.Fatalf("printed: %v\n%s", err, &b)
		}
		if diff := cmp.Diff(conf.Agents, back.Agents, cmpopts.IgnoreFields(Agent{}, "Line")); diff != "" {
			t.Fatalf("read back (-want +got):\n%s", diff)
		}
		if conf.Access != nil {
			for _, r := range conf.Access.Hosts {
				r.Matches(netip.MustParseAddr("1.2.3.4"))
				r.Matches(netip.MustParseAddr("fe80::1"))
			}
			conf.Access.Users.Matching(999, 995)
		}
		var tables strings.Builder
		if err := conf.Access.WriteTables(&tables, nil); err != nil || tables.Len() == 0 {
			t.Fatal(err)
		}
	})
}
