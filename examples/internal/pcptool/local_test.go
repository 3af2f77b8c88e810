package pcptool_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
	"github.com/pcp-go/pcp/pmapi/tool"
	"github.com/pcp-go/pcp/pmns"
)

// fakeAgents are a source of metrics in the place of agents, which notes what a tool does with
// them.
type fakeAgents struct {
	specs []string
	names *pmns.Tree
	noPMNS,
	openErr error
}

func (f *fakeAgents) Edit(spec string) error {
	if spec == "bad" {
		return errors.New("bad op in spec")
	}
	f.specs = append(f.specs, spec)
	return nil
}

func (f *fakeAgents) Open(names func() (*pmns.Tree, error), _ *pmapi.Derived) (*pmapi.Context, error) {
	if f.openErr != nil {
		return nil, f.openErr
	}
	f.names, f.noPMNS = names()
	return (&pmapitest.Source{Host: "here"}).Context(), nil
}

// newLocalTool is a tool with local contexts.
func newLocalTool() (*pcptool.Command, *fakeAgents, *strings.Builder) {
	f, stderr := &fakeAgents{}, &strings.Builder{}
	c := &pcptool.Command{Name: "pmx", Local: f, OperandSource: true, Stderr: stderr}
	c.AddOptions("General options", c.Standard("archive", "debug", "host", "local-PMDA", "spec-local", "namespace", "start", "hostzone")...)
	return c, f, stderr
}

func TestLocalSource(t *testing.T) {
	for _, tt := range []struct {
		args string
		kind pmapi.SourceKind
		name string
		spec pmapi.MetricSpec // of the operand "web2:m"
	}{
		{"", pmapi.SourceHost, "local:", pmapi.MetricSpec{Source: "web2", Metric: "m"}},
		{"-K clear", pmapi.SourceHost, "local:", pmapi.MetricSpec{Source: "web2", Metric: "m"}},
		{"-L", pmapi.SourceLocal, "@", pmapi.MetricSpec{Kind: pmapi.SourceLocal, Source: "@", Metric: "m"}},
		{"-L -h web1", pmapi.SourceLocal, "@", pmapi.MetricSpec{Kind: pmapi.SourceLocal, Source: "@", Metric: "m"}},
		{"-a x -L", pmapi.SourceLocal, "@", pmapi.MetricSpec{}}, // of an operand that goes with neither
	} {
		c, _, _ := newLocalTool()
		if _, err := c.Parse(strings.Fields(tt.args)); err != nil {
			t.Fatal(err)
		}
		if kind, name := c.Source(); kind != tt.kind || name != tt.name {
			t.Errorf("%s: source %v %q, want %v %q", tt.args, kind, name, tt.kind, tt.name)
		}
		spec, err := c.MetricSpec("web2:m")
		if strings.Contains(tt.args, "-a") {
			if !errors.Is(err, tool.ErrUsage) {
				t.Errorf("%s: %v", tt.args, err)
			}
			continue
		}
		if diff := cmp.Diff(tt.spec, spec); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", tt.args, err, diff)
		}
	}
	c, _, _ := newLocalTool()
	if spec, err := c.MetricSpec("@:m"); spec.Kind != pmapi.SourceLocal || err != nil {
		t.Errorf("@:m is %+v, %v", spec, err)
	}
}

func TestSpecLocal(t *testing.T) {
	c, f, _ := newLocalTool()
	if _, err := c.Parse([]string{"-K", "clear", "--spec-local=add,1,x,y", "-L"}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"clear", "add,1,x,y"}; !slices.Equal(f.specs, want) {
		t.Errorf("specifications %q, want %q", f.specs, want)
	}
	c, _, stderr := newLocalTool()
	_, err := c.Parse([]string{"-K", "bad", "-h", "web1"})
	if status := c.Report(err); status != 1 || stderr.String() != "pmx: pmSpecLocalPMDA failed: bad op in spec\n"+c.Usage() {
		t.Errorf("exit status %d, %s", status, stderr)
	}
	c, _, stderr = newLocalTool()
	_, err = c.Parse([]string{"-L", "-z"})
	if status := c.Report(err); status != 1 || !strings.HasPrefix(stderr.String(), "pmx: use of timezone from metric source requires a source\n") {
		t.Errorf("-L -z: exit status %d, %s", status, stderr)
	}
}

func TestOpenLocal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "names")
	if err := os.WriteFile(file, []byte("root {\n a 1:2:3\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "nosuch")
	for _, tt := range []struct{ env, option, report string }{
		{env: file},
		{env: missing, report: fmt.Sprintf("Error Parsing ASCII PMNS: Cannot open \"%s\"\n", missing)},
		{env: missing, option: file},
	} {
		t.Setenv("PMNS_DEFAULT", tt.env)
		c, f, stderr := newLocalTool()
		args := []string{"-L"}
		if tt.option != "" {
			args = append(args, "-n", tt.option)
		}
		if _, err := c.Parse(args); err != nil {
			t.Fatal(err)
		}
		pc, err := c.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pc.Close()
		if id, err := f.names.Lookup("a"); (tt.report == "") != (id == pdu.MakePMID(1, 2, 3) && err == nil && f.noPMNS == nil) || stderr.String() != tt.report {
			t.Errorf("%+v: a is %v, %v, %v, %s", tt, id, err, f.noPMNS, stderr)
		}
	}
	for message, want := range map[string]string{
		"":                 "pmx: Cannot make standalone connection on localhost: No such file or directory\n",
		"Cannot establish": "pmx: Cannot establish: No such file or directory\n",
	} {
		c, f, stderr := newLocalTool()
		f.openErr, c.LocalError = fs.ErrNotExist, message
		_, err := c.OpenSource(t.Context(), pmapi.SourceLocal, "@")
		if status := c.Report(err); status != 1 || stderr.String() != want || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("exit status %d, %q, want %q", status, stderr, want)
		}
	}
}
