package collector_test

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

// labelFiles is a directory with valid label files and files that are skipped.
var labelFiles = map[string]string{
	"labels/a.json":     `{"role":"test","n":1.50,"sub":{"a":true},"hostname":"x"}`,
	"labels/b":          `{"role" : "prod", "zed" : "Z"}`,
	"labels/c":          `{"bad-name":1}`,
	"labels/d":          `{"group":7`,
	"labels/e":          ``,
	"labels/.hidden":    `{"hidden":1}`,
	"labels/dir/f":      `{"deep":1}`,
	"labels/optional/o": `{"opt":"yes","zed":"opt"}`,
	"machine-id":        "0123456789abcdef\nmore\n",
}

func writeLabelFiles(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range labelFiles {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestContextLabels(t *testing.T) {
	dir := writeLabelFiles(t)
	files := collector.ContextLabels{Dir: filepath.Join(dir, "labels"), MachineID: filepath.Join(dir, "machine-id")}
	client := pmda.NewClient(0, 0)
	known := &pmda.Client{UID: 5, GID: 6, Container: "box"}
	failing := func() (string, error) { return "", errors.New("none") }
	tests := []struct {
		name   string
		labels collector.ContextLabels
		client *pmda.Client
		want   string
	}{
		{"zero", collector.ContextLabels{}, nil, `{"domainname":"dom","hostname":"h","machineid":"localmachine"}`},
		{"no name", collector.ContextLabels{Hostname: failing}, client, `{"domainname":"dom","hostname":"localhost","machineid":"localmachine"}`},
		{"client", collector.ContextLabels{}, known, `{"container":"box","domainname":"dom","groupid":6,"hostname":"h","machineid":"localmachine","userid":5}`},
		{"files", files, client, `{"domainname":"dom","hostname":"h","machineid":"0123456789abcdef","n":1.50,"opt":"yes","role":"prod","sub.a":true,"zed":"opt"}`},
		{"missing files", collector.ContextLabels{Conf: dir + "/none", MachineID: dir + "/none"}, nil, `{"domainname":"dom","hostname":"h","machineid":"localmachine"}`},
	}
	for _, tt := range tests {
		if tt.labels.Hostname == nil {
			tt.labels.Hostname = func() (string, error) { return "h", nil }
		}
		tt.labels.DomainName = func() string { return "dom" }
		set, err := tt.labels.For(tt.client)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, set.String()); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", tt.name, diff)
		}
		for l := range set.All() {
			optional := l.Name == "userid" || l.Name == "groupid" || l.Name == "opt" || l.Name == "zed"
			if l.Flags.Class() != pdu.LabelContext || l.Flags&pdu.LabelOptional != 0 != optional {
				t.Errorf("%s: %s has flags %#x", tt.name, l.Name, l.Flags)
			}
		}
	}

	set, skipped, err := collector.FilesOf(files)
	const want = `{"hostname":"x","n":1.50,"opt":"yes","role":"prod","sub.a":true,"zed":"opt"}`
	if err != nil || set.String() != want || len(skipped) != 2 || !strings.Contains(skipped[0].Error(), "labels/c: ") {
		t.Errorf("files: got %v, %v, %v, want %s and two skipped", set, skipped, err, want)
	}
	files.Dir = filepath.Join(dir, "none")
	if _, err := files.For(client); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the directory: got %v", err)
	}
	if _, _, err := collector.FilesOf(files); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("files without the directory: got %v", err)
	}
	files.Dir = filepath.Join(dir, "labels", "dir")
	if set, skipped, err := collector.FilesOf(files); err != nil || set.String() != `{"deep":1}` || len(skipped) != 0 {
		t.Errorf("without optional ones: got %v, %v, %v", set, skipped, err)
	}
}

// TestBadLabelNames checks that a bad name does not hide other labels, and is logged once.
func TestBadLabelNames(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.conf": `{"_block":16,"site":"b1"}`, "b.conf": `{"data-center":{"x":1},"rack":"r7"}`, "c.conf": `{"9":1}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	s := &collector.Server{Labels: collector.ContextLabels{Dir: dir}, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	defer s.Close()
	set, err := s.Labels.For(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"_block": "16", "site": "b1", "rack": "r7"} {
		if got, _ := set.Lookup(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	c, err := pmapi.Local(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 {
		if _, err := c.Labels(t.Context(), pdu.MakePMID(2, 0, 2)); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{"b.conf": `data-center.x`, "c.conf": `9`} {
		if strings.Count(log.String(), file+`: labels: bad name \"`+want+`\"`) != 1 {
			t.Errorf("%s is not in the log once:\n%s", file, &log)
		}
	}
}

func TestLabelsConf(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "labels.conf")
	tests := []struct {
		text string
		want bool
	}{
		{"", false},
		{"machineid_hash = sha256", true},
		{"# machineid_hash = sha256", false},
		{"[global]\n  machineid_hash:sha256 # why not", true},
		{"[other]\nmachineid_hash = sha256\n", false},
		{"[other]\n[global]\nother = 1\nmachineid_hash=sha256", true},
		{"machineid_hash = sha256\nmachineid_hash = none\n", false},
	}
	for _, tt := range tests {
		if err := os.WriteFile(conf, []byte(tt.text), 0o644); err != nil {
			t.Fatal(err)
		}
		set, err := collector.ContextLabels{Conf: conf}.For(nil)
		if err != nil {
			t.Fatal(err)
		}
		plain, isPlain := set.Lookup("machineid")
		hash, isHash := set.Lookup("machineid_sha256")
		// echo -n localmachine | sha256sum
		const sum = "4dcff50158cfda428fa70d2a9b2f88f9376cb8f6159e505c1f0ffc3a5fc4cc8f"
		if isHash != tt.want || isPlain == tt.want || isHash && hash != sum || isPlain && plain != "localmachine" {
			t.Errorf("%q: got %v, want a hash: %v", tt.text, set, tt.want)
		}
	}
}

// TestInteropContextLabels checks that a client's context labels are those of C pmcd.
func TestInteropContextLabels(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo")
	dir := writeLabelFiles(t)
	for _, conf := range []string{"", "[global]\nmachineid_hash = sha256\n"} {
		if err := os.WriteFile(filepath.Join(dir, "labels.conf"), []byte(conf), 0o644); err != nil {
			t.Fatal(err)
		}
		pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd"}, Env: []string{"PCP_SYSCONF_DIR=" + dir}})
		labels := collector.SystemLabels(dir)
		for host, client := range map[string]*pmda.Client{
			pmcd.Host():               nil,
			"unix://" + pmcd.Socket(): {UID: os.Getuid(), GID: os.Getgid()},
		} {
			set, err := labels.For(client)
			if err != nil {
				t.Fatal(err)
			}
			agent, _ := pdu.ParseLabels(pdu.LabelDomain, `{"agent":"pmcd"}`, false)
			if set, err = pdu.MergeLabels(nil, set, agent); err != nil {
				t.Fatal(err)
			}
			out, stderr, _ := pcptest.Run(t, nil, "", "pminfo", "-h", host, "-l", "pmcd.pid")
			want := "labels " + set.String()
			if !strings.Contains(out, want+"\n") {
				t.Errorf("pminfo of %s gives\n%s%s\nwe have\n%s", host, out, stderr, want)
			}
		}
		files, _, err := collector.FilesOf(labels)
		if err != nil {
			t.Fatal(err)
		}
		if out, _, _ := pcptest.Run(t, nil, "", "pminfo", "-h", pmcd.Host(), "-f", "pmcd.labels"); !strings.Contains(out, `"`+files.String()+`"`) {
			t.Errorf("pmcd.labels: got %s, want %v", out, files)
		}
	}
}

// TestInteropContextLabelSets checks that the label sets equal those of C pmcd: the JSON, and the
// position and flags of each label in it.
func TestInteropContextLabelSets(t *testing.T) {
	pcptest.Need(t, "pmcd")
	many, one := writeLabelFiles(t), t.TempDir()
	if err := os.Mkdir(filepath.Join(one, "labels"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(one, "labels", "only"), []byte(`{"hostname":"x","plain":"p","sub":{"a":1}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{many, one} {
		pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd"}, Env: []string{"PCP_SYSCONF_DIR=" + dir}})
		host, _ := serveForTools(t, &collector.Server{Labels: collector.SystemLabels(dir)})
		if diff := cmp.Diff(contextLabels(t, pmcd.Addr()), contextLabels(t, host)); diff != "" {
			t.Errorf("LABEL (-C +Go):\n%s", diff)
		}
	}
}

// contextLabels requests the labels of the context from a collector.
func contextLabels(t *testing.T, addr string) pdu.LabelReply {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	c := pdu.NewConn(nc)
	if _, err := pdu.ClientHello(c, int32(os.Getpid()), 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(0, pdu.LabelsOfContext().Request()); err != nil {
		t.Fatal(err)
	}
	h, body, err := c.Read()
	if err == nil && h.Kind == pdu.KindError { // a state change
		_, body, err = c.Read()
	}
	if err != nil {
		t.Fatal(err)
	}
	var reply pdu.LabelReply
	if err := reply.Decode(body); err != nil {
		t.Fatal(err)
	}
	for i := range reply.Sets { // they alias the connection's buffer
		reply.Sets[i].JSON = slices.Clone(reply.Sets[i].JSON)
	}
	return reply
}
