// Package readme holds the test that what the README and the package comments
// show works.
package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// TestPrograms builds every Go program of the README, each in a module of its
// own, as a reader would.
func TestPrograms(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	programs := goBlock.FindAllStringSubmatch(string(text), -1)
	if len(programs) < 2 {
		t.Fatalf("found %d programs in the README, want at least 2", len(programs))
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	requires := strings.ReplaceAll(string(mod), "module github.com/pcp-go/pcp", "module example.com/reader")
	for _, p := range programs {
		dir := t.TempDir()
		files := map[string]string{
			"main.go": p[1],
			"go.sum":  string(sums),
			"go.mod":  requires + "\nrequire github.com/pcp-go/pcp v0.0.0\nreplace github.com/pcp-go/pcp => " + root + "\n",
		}
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("go", "vet", "-mod=mod", ".")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("a program of the README does not build: %v\n%s\n%s", err, out, p[1])
		}
	}
}

// TestFragments type-checks the indented fragments of the root package comment:
// each is the body of a function, with the variables that it speaks of declared.
func TestFragments(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	var fragments []string
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			fragments = append(fragments, b.String())
			b.Reset()
		}
	}
	for line := range strings.Lines(string(text)) {
		if code, ok := strings.CutPrefix(line, "//\t"); ok {
			b.WriteString(code)
		} else {
			flush()
		}
	}
	flush()
	if len(fragments) != 5 {
		t.Fatalf("found %d fragments in doc.go, want the table of packages and 4 of code", len(fragments))
	}
	dir, err := os.MkdirTemp(".", "_fragments") // within the module, so that it resolves imports
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for i, f := range fragments[1:] {
		src := "package fragments\n\nimport (\n\"context\"\n\"io\"\n\"log/slog\"\n\"net\"\n\"sync/atomic\"\n\"fmt\"\n\"time\"\n" +
			"\"github.com/pcp-go/pcp/pdu\"\n\"github.com/pcp-go/pcp/pmapi\"\n\"github.com/pcp-go/pcp/pmda\"\n\"github.com/pcp-go/pcp/pmda/collector\"\n)\n" +
			"var (\n_ context.Context\n_ *slog.Logger\n_ atomic.Uint64\n_ pmda.Handler\n_ *collector.Server\n_ pdu.PMID\n_ *pmapi.Context\n_ fmt.Stringer\n_ time.Time\n_ net.Conn\n)\n" +
			"func fragment" + string(rune('0'+i)) + "(ctx context.Context, stream io.ReadWriter, ln net.Listener, id pdu.PMID, hits *atomic.Uint64) {\n"
		if !strings.Contains(f, "a := &pmda.Agent") {
			src += "a := &pmda.Agent{}\n_ = a\n"
		}
		src += f + "\n"
		for _, v := range []string{"offered", "h", "body", "err"} {
			if regexp.MustCompile(`(?m)^[^/\n]*\b` + v + `\b[^\n]*:=`).MatchString(f) {
				src += "_ = " + v + "\n"
			}
		}
		src += "}\n"
		name := filepath.Join(dir, "fragment"+string(rune('0'+i))+".go")
		if err := os.WriteFile(name, []byte(src), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "vet", "./"+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("a fragment of doc.go does not build: %v\n%s", err, out)
	}
}
