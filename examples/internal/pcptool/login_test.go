package pcptool

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-go/pcp/pmapi"
)

// TestAskNobody checks that askLogin does not prompt if the console is not a terminal, and leaves a
// file alone.
func TestAskNobody(t *testing.T) {
	file := filepath.Join(t.TempDir(), "console")
	if err := os.WriteFile(file, []byte("root\nsecret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, console := range []string{"none", file, file + ".not", t.TempDir()} {
		t.Setenv("PCP_CONSOLE", console)
		l := pmapi.Login{Host: "there"}
		if err := askLogin(t.Context(), &l); err != nil || l != (pmapi.Login{Host: "there"}) {
			t.Errorf("%s: %+v, %v", console, l, err)
		}
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "root\nsecret\n" {
		t.Errorf("the file has %q, %v", b, err)
	}
}
