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

// TestFragments type-checks the indented fragments of the root package comment:
// each is the body of a function, with the variables that it speaks of declared.
func TestFragments(t *testing.T) {
	var fragments []string
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			fragments = append(fragments, b.String())
			b.Reset()
		}
	}
	for line := range strings.Lines(rootFile(t, "doc.go")) {
		if code, ok := strings.CutPrefix(line, "//\t"); ok {
			b.WriteString(code)
		} else {
			flush()
		}
	}
	flush()
	if len(fragments) != 6 {
		t.Fatalf("found %d fragments in doc.go, want the table of packages and 5 of code", len(fragments))
	}
	dir, err := os.MkdirTemp(".", "_fragments") // within the module, so that it resolves imports
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for i, f := range fragments[1:] {
		src := "package fragments\n\nimport (\n\"context\"\n\"io\"\n\"log/slog\"\n\"net\"\n\"sync/atomic\"\n\"fmt\"\n\"time\"\n" +
			"\"github.com/pcp-go/pcp/pdu\"\n\"github.com/pcp-go/pcp/pmapi\"\n\"github.com/pcp-go/pcp/pmda\"\n\"github.com/pcp-go/pcp/pmda/collector\"\n\"github.com/pcp-go/pcp/pmda/pmdago\"\n" +
			"\"github.com/pcp-go/pcp/mmv\"\n\"github.com/pcp-go/pcp/pmda/pmdammv\"\n\"github.com/pcp-go/pcp/trace\"\n)\n" +
			"var (\n_ context.Context\n_ *slog.Logger\n_ atomic.Uint64\n_ pmda.Handler\n_ *collector.Server\n_ pmdago.Options\n_ pdu.PMID\n_ *pmapi.Context\n_ fmt.Stringer\n_ time.Time\n_ net.Conn\n_ mmv.Type\n_ pmdammv.Options\n_ trace.Span\n)\n" +
			"func fragment" + string(rune('0'+i)) + "(ctx context.Context, stream io.ReadWriter, ln net.Listener, id pdu.PMID, hits *atomic.Uint64) {\n"
		if !strings.Contains(f, "a := &pmda.Agent") {
			src += "a := &pmda.Agent{}\n_ = a\n"
		}
		if !strings.Contains(f, "srv :=") {
			src += "srv := &collector.Server{}\n_ = srv\n"
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
