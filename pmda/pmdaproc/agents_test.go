package pmdaproc_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/pmdaproc"
)

// An agentClient is a client of a collector with one of the two agents that are compared.
type agentClient struct {
	*pmapi.Context
	t testing.TB
}

// patientDialer waits long enough on a busy machine.
var patientDialer = pmapi.Dialer{ConnectTimeout: time.Minute, RequestTimeout: time.Minute}

// ourAgent starts this package's agent on a root directory, without access checks. A panic of the
// agent fails the test, even if the agent recovers from it.
func ourAgent(t testing.TB, root string) agentClient {
	t.Helper()
	return serveAgent(t, &pmdaproc.Options{Root: root, NoAccessChecks: true})
}

// serveAgent is ourAgent with options.
func serveAgent(t testing.TB, o *pmdaproc.Options) agentClient {
	t.Helper()
	a, err := pmdaproc.New(o)
	if err != nil {
		t.Skip(err)
	}
	var log bytes.Buffer
	a.Logger = slog.New(slog.NewTextHandler(&log, nil))
	t.Cleanup(func() {
		if s := log.String(); strings.Contains(s, "panic") {
			t.Error(s)
		}
	})
	s := &collector.Server{Timeout: patientDialer.RequestTimeout}
	if err := s.Add(a); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	c, err := patientDialer.Local(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return agentClient{c, t}
}

// cAgent starts the C agent on a root directory, with a C pmcd.
func cAgent(t testing.TB, root string, env ...string) agentClient {
	t.Helper()
	if root != "" {
		env = append(env, "PROC_STATSPATH="+root)
	}
	p := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"proc"}, Env: append(env, "PROC_ACCESS=1")})
	c, err := patientDialer.Dial(t.Context(), p.Host())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return agentClient{c, t}
}

// names returns the metrics below a name, sorted.
func (c agentClient) names(prefix string) (names []string) {
	c.t.Helper()
	names, err := c.Traverse(c.t.Context(), prefix)
	if err != nil {
		c.t.Fatal(prefix, err)
	}
	slices.Sort(names)
	return names
}

// descs returns the descriptors of metrics.
func (c agentClient) descs(names []string) map[string]pdu.Desc {
	c.t.Helper()
	ids, err := c.Lookup(c.t.Context(), names)
	if err != nil {
		c.t.Fatal(err)
	}
	descs, err := c.Descs(c.t.Context(), ids)
	if err != nil {
		c.t.Fatal(err)
	}
	all := map[string]pdu.Desc{}
	for i, name := range names {
		all[name] = descs[i]
	}
	return all
}

// values returns the values of metrics by name, a line for each value.
func (c agentClient) values(names []string) map[string]string {
	c.t.Helper()
	ids, err := c.Lookup(c.t.Context(), names)
	if err != nil {
		c.t.Fatal(err)
	}
	descs, err := c.Descs(c.t.Context(), ids)
	if err != nil {
		c.t.Fatal(err)
	}
	var r pdu.Result
	if err := c.Fetch(c.t.Context(), ids, &r); err != nil {
		c.t.Fatal(err)
	}
	all := map[string]string{}
	for i, set := range r.All() {
		var lines []string
		for id, a := range set.All(descs[i].Type) {
			lines = append(lines, fmt.Sprintf("%10d %s", int32(id), a))
		}
		slices.Sort(lines)
		if err := set.Err(); err != nil {
			lines = append(lines, err.Error())
		}
		all[names[i]] = strings.Join(lines, "\n")
	}
	return all
}

// files are a small tree: texts by name. A text that begins with -> is a link, and a name that ends
// with a slash is a directory.
type files map[string]string

// write writes the tree to a new directory.
func (f files) write(t testing.TB) (root string) {
	t.Helper()
	root = t.TempDir()
	f.writeTo(t, root)
	return root
}

func (f files) writeTo(t testing.TB, root string) {
	t.Helper()
	for name, text := range f {
		path := filepath.Join(root, filepath.FromSlash(name))
		dir := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			dir = path
		}
		err := os.MkdirAll(dir, 0o755)
		if target, isLink := strings.CutPrefix(text, "->"); err == nil && isLink {
			err = os.Symlink(target, path)
		} else if err == nil && dir != path {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
