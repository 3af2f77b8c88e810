package pcptool

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-go/pcp/pmns"
)

// A line that no preprocessor knows is reported as at the line before it, as C does.
func TestNamesReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "names")
	for text, want := range map[string]string{
		"root {\n  #fumble x\n}\n":       "[" + file + ":1] Error Parsing ASCII PMNS: Illegal line number control number\n    #fumble x\n",
		"#fumble\nroot {\n a 1:2:3\n}\n": "Error Parsing ASCII PMNS: Illegal line number control number\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := pmns.Load(file)
		if got := namesReport(file, err); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", text, got, want)
		}
	}
}
