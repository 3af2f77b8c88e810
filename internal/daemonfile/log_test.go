package daemonfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/daemonfile"
)

func TestLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	for _, text := range []string{"first\n", "second\n"} {
		f, err := daemonfile.OpenLog(path, "pmdax")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(f, text)
		if err := f.Finish(); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{path: "second", path + ".prev": "first"} {
		b, err := os.ReadFile(name)
		date := `[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9]\d \d\d:\d\d:\d\d \d{4}`
		re := regexp.MustCompile(`^Log for pmdax on \S+ started ` + date + `\n\n` + text + `\n\nLog finished ` + date + `\n$`)
		if err != nil || !re.Match(b) {
			t.Errorf("%s: %v, %q", name, err, b)
		}
	}
	for _, bad := range []string{filepath.Join(path, "y"), "", path + "/"} {
		if _, err := daemonfile.OpenLog(bad, "pmdax"); err == nil || !strings.HasPrefix(err.Error(), "create "+bad+": ") {
			t.Errorf("OpenLog(%q): %v", bad, err)
		}
	}
}
