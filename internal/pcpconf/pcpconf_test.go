package pcpconf

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const sample = `# comment
PCP_LOG_DIR=/logs` + "\r\n" + `# PCP_TMP_DIR=/none

PCP_AWK_PROG="/usr/bin/gawk --posix"
PCP_CC_PROG='gcc '
PCP_PS_ALL_FLAGS=-efw = all
PCP_EMPTY=
PCP_BLANK="x" ` + "\n" + `PCP_LOG_DIR=/later
OTHER=1
ANOTHER=2
 PCP_INDENTED=1
nonsense
`

func TestGet(t *testing.T) {
	c, err := Parse(strings.NewReader(sample))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PCP_RUN_DIR", "/mine")
	t.Setenv("PCP_EMPTY_ENV", "")
	t.Setenv("OTHER", "env")
	for name, want := range map[string]string{
		"PCP_LOG_DIR":      "/logs",
		"PCP_AWK_PROG":     "/usr/bin/gawk --posix",
		"PCP_CC_PROG":      "gcc ",
		"PCP_PS_ALL_FLAGS": "-efw = all",
		"PCP_EMPTY":        "",
		"PCP_BLANK":        "\"x\" ",
		"PCP_RUN_DIR":      "/mine",
		"PCP_PMDAS_DIR":    "/var/lib/pcp/pmdas",
		"PCP_INDENTED":     "",
		"OTHER":            "env",
		"ANOTHER":          "2",
	} {
		if got := c.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	t.Setenv("PCP_TMP_DIR", "")
	if got := c.Get("PCP_TMP_DIR"); got != "" {
		t.Errorf("empty in the environment: got %q", got)
	}
	env := c.Environ()
	for _, want := range []string{"PCP_LOG_DIR=/logs", "PCP_RUN_DIR=/mine", "PCP_SYSCONF_DIR=/etc/pcp", "PCP_TMP_DIR="} {
		if !slices.Contains(env, want) {
			t.Errorf("Environ lacks %s: %q", want, env)
		}
	}
	if !slices.IsSorted(env) {
		t.Errorf("Environ is not sorted: %q", env)
	}
	if got := new(Conf).Get("PCP_VAR_DIR"); got != "/var/lib/pcp" {
		t.Errorf("zero Conf: got %q", got)
	}
}

// PCP_DIR is where all of PCP is, PCP_CONF where this file is.
func TestLoadBelow(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("etc/pcp.conf", "PCP_HERE=below\n")
	other := write("other", "PCP_HERE=elsewhere\n")
	t.Setenv("PCP_CONF", "")
	t.Setenv("PCP_DIR", dir)
	if c, err := Load(""); err != nil || c.Get("PCP_HERE") != "below" {
		t.Errorf("PCP_DIR: got %v, %v", c, err)
	}
	t.Setenv("PCP_CONF", other)
	if c, err := Load(""); err != nil || c.Get("PCP_HERE") != "elsewhere" {
		t.Errorf("PCP_CONF and PCP_DIR: got %v, %v", c, err)
	}
	t.Setenv("PCP_CONF", "")
	t.Setenv("PCP_DIR", filepath.Join(dir, "none"))
	if c, err := Load(""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("PCP_DIR without the file: got %v, %v", c, err)
	}
}

func TestLoad(t *testing.T) {
	t.Setenv("PCP_DIR", "")
	file := filepath.Join(t.TempDir(), "pcp.conf")
	if _, err := Load(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("named file that does not exist: got %v", err)
	}
	if err := os.WriteFile(file, []byte(sample), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PCP_LOG_DIR", "") // and then not set, but restored
	os.Unsetenv("PCP_LOG_DIR")
	t.Setenv("PCP_CONF", file)
	for _, path := range []string{file, ""} {
		if c, err := Load(path); err != nil || c.Get("PCP_LOG_DIR") != "/logs" {
			t.Errorf("Load(%q): got %v, %v", path, c, err)
		}
	}
	t.Setenv("PCP_CONF", "")
	if c, err := Load(""); err != nil || c.Get("PCP_VAR_DIR") == "" {
		t.Errorf("without a name: got %v, %v", c, err)
	}
	if err := os.WriteFile(file, []byte("PCP_A=1\nPCP_B="+strings.Repeat("x", bufio.MaxScanTokenSize)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file); !errors.Is(err, bufio.ErrTooLong) || !strings.HasPrefix(err.Error(), file+": line 2: ") {
		t.Errorf("too long a line: got %v", err)
	}
}
