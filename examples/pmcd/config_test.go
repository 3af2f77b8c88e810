package main

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
		var f configFile
		if err := f.load(&options{config: path, installed: installed}); err != nil {
			t.Fatal(err)
		}
		if len(f.problems) != 1 || f.problems[0].Error() != want {
			t.Errorf("installed %v: %v, want %s", installed, f.problems, want)
		}
	}
	if err := os.WriteFile(path, []byte("good 400 pipe binary /bin/true\n[access]\nall;\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const want = ":3: allow or disallow statement expected, not \"all\""
	if err := new(configFile).load(&options{config: path}); err == nil || err.Error() != path+want {
		t.Errorf("error %v, want %s%s", err, path, want)
	}
}
