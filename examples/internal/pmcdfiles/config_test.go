package pmcdfiles

import (
	"os"
	"path/filepath"
	"testing"
)

// TestConfigErrors: error messages name the file and the line, except in a program that replaces
// PCP's pmcd. That program prints pmcd's text.
func TestConfigErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pmcd.conf")
	if err := os.WriteFile(path, []byte("good 400 pipe binary /bin/true\nbad 600 pipe binary /bin/true\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const msg = `Illegal domain number (600) for "bad" agent`
	for installed, want := range map[bool]string{false: path + ":2: " + msg, true: "pmcd config[line 2]: Error: " + msg} {
		f := &Files{Config: path, Installed: installed}
		if err := f.LoadConfig(); err != nil {
			t.Fatal(err)
		}
		if len(f.Problems) != 1 || f.Problems[0].Error() != want {
			t.Errorf("installed %v: %v, want %s", installed, f.Problems, want)
		}
	}
	if err := os.WriteFile(path, []byte("good 400 pipe binary /bin/true\n[access]\nall;\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const want = ":3: allow or disallow statement expected, not \"all\""
	if err := (&Files{Config: path}).LoadConfig(); err == nil || err.Error() != path+want {
		t.Errorf("error %v, want %s%s", err, path, want)
	}
}
