package pcptool_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// laterMetrics are the derived metrics that ctx_derive defines, after the number of its step.
var laterMetrics = []struct {
	step       int
	name, expr string
}{
	{3, "testme.one", "sample.bin - 50"},
	{4, "testme.two", "sample.long.ten + 3"},
	{4, "testme.sub.two", "sample.string.hullo"},
	{6, "testme.three", "sample.long.ten + 32"},
	{6, "testme.sub.three", "sample.bin - sample.bin"},
	{6, "testme.sub.sub.three", "123456"},
}

// TestInteropSuiteContexts runs ctx_derive of PCP's own test-suite (tests 1252 and 1254): derived
// metrics of all contexts and of single ones, where contexts are duplicated and closed. What it
// defines for all contexts when there are some, ours defines for each of them: pmapi.Derived is for
// contexts that are opened later. The values of testme.big, which cannot be computed, are left out:
// C sends its PMID to pmcd, which does not know it, and ours is pdu.ErrBadDerive.
func TestInteropSuiteContexts(t *testing.T) {
	program := buildSuiteProgram(t, "ctx_derive")
	pcptest.Need(t, "pmcd")
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample"}})
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte("testme.big = sampledso.no.such\ntestme.large = sample.bin * 2\ntestme.lights=sample.lights\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(pmcd.Host(), ":")
	env := []string{"PCP_DERIVED_CONFIG=" + config, "PMCD_PORT=" + port, "PMCD_SOCKET=" + filepath.Join(t.TempDir(), "none")}
	for _, args := range [][]string{nil, {"-P"}, {"-P", "sample.bin", "testme.large", "sample.string.hullo"}} {
		theirs, errs, _ := pcptest.Run(t, env, "", append([]string{program}, args...)...)
		s := suiteContexts{t: t, host: pmcd.Host(), own: len(args) > 0}
		if _, err := s.global.Load(config); err != nil {
			t.Fatal(err)
		}
		for _, m := range laterMetrics {
			s.names = append(s.names, m.name)
		}
		if s.own {
			s.names = append(s.names, args[1:]...)
		}
		ours := s.run()
		if diff := cmp.Diff(strings.Split(theirs+errs, "\n"), strings.Split(ours, "\n")); diff != "" {
			t.Errorf("ctx_derive %q (-C +Go):\n%s", args, diff)
		}
	}
}

// suiteContexts is the counterpart of ctx_derive.
type suiteContexts struct {
	t      *testing.T
	host   string
	own    bool // definitions are for single contexts
	global pmapi.Derived
	names  []string
	open   [2]*pmapi.Context
	strings.Builder
}

func (s *suiteContexts) dial() *pmapi.Context {
	c, err := (&pmapi.Dialer{Derived: &s.global}).Dial(s.t.Context(), s.host)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *suiteContexts) close(i int) {
	s.open[i].Close()
	s.open[i] = nil
}

// define defines the metrics of a step, for one context or for all.
func (s *suiteContexts) define(step, i int) {
	contexts := s.open[:]
	if s.own {
		contexts = s.open[i : i+1]
	}
	for _, m := range laterMetrics {
		if m.step != step {
			continue
		}
		if !s.own {
			if err := s.global.Define(m.name, m.expr); err != nil {
				s.t.Fatal(err)
			}
		}
		for _, c := range contexts {
			if c == nil {
				continue
			}
			if err := c.Derive(s.t.Context(), m.name, m.expr); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

func (s *suiteContexts) run() string {
	for i, name := range s.names {
		fmt.Fprintf(s, "name[%d] %s\n", i, name)
	}
	s.open[0] = s.dial()
	defer func() {
		for _, c := range s.open {
			if c != nil {
				c.Close()
			}
		}
	}()
	s.state(1)
	dup, err := s.open[0].Dup(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	s.open[1] = dup
	s.state(2)
	s.define(3, 0)
	s.state(3)
	s.define(4, 1)
	s.state(4)
	s.close(0)
	s.state(5)
	s.define(6, 1)
	s.state(6)
	s.open[0] = s.dial()
	s.state(7)
	s.close(1)
	s.state(8)
	s.close(0)
	s.state(8)
	return s.String()
}

// state prints the state of both contexts.
func (s *suiteContexts) state(n int) {
	fmt.Fprintf(s, "\n=== State %d ===\n", n)
	for i, c := range s.open {
		switch {
		case n == 1 && i == 1:
			s.WriteString("ctx[1] < 0, skip work\n")
		case c == nil:
			fmt.Fprintf(s, "ctx[%d]: pmUseContext: %v, skip work\n", i, pdu.ErrNoContext)
		default:
			s.underTestme(n, i, c)
			s.metrics(i, c)
		}
	}
}

// underTestme prints the names below testme, in the steps that do.
func (s *suiteContexts) underTestme(n, i int, c *pmapi.Context) {
	switch n {
	case 2, 5, 8:
		names, err := c.Traverse(s.t.Context(), "testme")
		if err != nil {
			s.t.Fatal(err)
		}
		for _, name := range names {
			fmt.Fprintf(s, "pmTraversePMNS found: %s\n", name)
		}
	case 3, 6:
		children, err := c.Children(s.t.Context(), "testme")
		if err != nil {
			s.t.Fatal(err)
		}
		for _, child := range children {
			fmt.Fprintf(s, "ctx[%d]: pmGetChldren found: %s\n", i, child.Name)
		}
	}
}

// metrics prints descriptors and values.
func (s *suiteContexts) metrics(i int, c *pmapi.Context) {
	ctx := s.t.Context()
	var names []string
	var descs []pdu.Desc
	for _, name := range s.names {
		ids, err := c.Lookup(ctx, []string{name})
		if err != nil {
			fmt.Fprintf(s, "ctx[%d]: %s: not in PMNS\n", i, name)
			continue
		}
		d, err := c.Desc(ctx, ids[0])
		if err != nil {
			fmt.Fprintf(s, "ctx[%d]: %s: pmLookupDesc: %v\n", i, name, pdu.FromError(err))
			d = pdu.Desc{PMID: ids[0]}
		} else {
			fmt.Fprintf(s, "ctx[%d]: %s: \n    Data Type: %s  InDom: %v 0x%x\n    %s\n", i, name, pcptool.TypeText(d.Type), d.InDom, uint32(d.InDom), pcptool.SemanticsText(d))
		}
		names, descs = append(names, name), append(descs, d)
	}
	if names == nil {
		fmt.Fprintf(s, "ctx[%d]: No valid PMIDs, nothing to fetch\n", i)
		return
	}
	var ids []pdu.PMID
	for _, d := range descs {
		ids = append(ids, d.PMID)
	}
	var r pdu.Result
	if err := c.Fetch(ctx, ids, &r); err != nil {
		s.t.Fatal(err)
	}
	for k, set := range r.All() {
		fmt.Fprintf(s, "ctx[%d]: %s: ", i, names[k])
		if err := set.Err(); err != nil {
			fmt.Fprintf(s, "%v\n", err)
			continue
		}
		fmt.Fprintf(s, "%d values:", set.Len())
		for _, a := range set.All(descs[k].Type) {
			fmt.Fprintf(s, " %s", pdu.ValueFormat{Width: 8}.Format(a))
		}
		s.WriteByte('\n')
	}
}
