package pcptool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/pmapi"
)

// TestLoadDerived opens an archive with the derived metrics of the environment and of an option,
// and prints what is wrong with them.
func TestLoadDerived(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"env": "q.env = 1 + sample.bin\nq.bad = +\n", "option": "q.option = 2\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PCP_DERIVED_CONFIG", filepath.Join(dir, "env"))
	var errs strings.Builder
	c := &pcptool.Command{Name: "tool", Stderr: &errs, NoEnvironment: true}
	c.AddOptions("General options", c.Standard("archive", "derived")...)
	if _, err := c.Parse([]string{"--derived=" + filepath.Join(dir, "option")}); err != nil {
		t.Fatal(err)
	}
	want := "[" + filepath.Join(dir, "env") + ":2] Error: pmRegisterDerived(q.bad, ...) syntax error\n +\n ^\nUnexpected initial '+'\n"
	if errs.String() != want {
		t.Errorf("%q, want %q", errs.String(), want)
	}
	pc, err := c.OpenSource(t.Context(), pmapi.SourceArchive, filepath.Join("..", "..", "..", "archive", "testdata", "v3"))
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	if names, err := pc.Traverse(t.Context(), "q"); err != nil || strings.Join(names, " ") != "q.env q.option" {
		t.Error(names, err)
	}
	err = c.LoadDerived(filepath.Join(dir, "none"))
	if err == nil {
		t.Error("a file that does not exist is loaded")
	}
	_, err = c.Parse([]string{"--derived=" + filepath.Join(dir, "none")})
	if e, ok := err.(*pcptool.ExitError); !ok || !strings.HasPrefix(e.Message, "tool: pmLoadDerivedConfig failed: No such file or directory\n") {
		t.Errorf("%v", err)
	}
}
