package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestHelpWidth: the lines of the usage message fit a terminal of 80 columns, except those with
// pmcd's wording.
func TestHelpWidth(t *testing.T) {
	for installed, width := range map[bool]int{false: 80, true: 82} {
		for line := range strings.SplitSeq((&options{installed: installed}).set().Usage(), "\n") {
			if len(line) > width {
				t.Errorf("installed %v: %d columns: %s", installed, len(line), line)
			}
		}
	}
}

// TestVerify checks configuration files as pmcd does. Files that pmcd accepts although they cannot
// work are errors, except in the place of pmcd, where TestInteropFatalStart has them.
func TestVerify(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		status     int
		want       string
		accepted   bool // by pmcd
	}{
		{"good", "x 250 pipe binary /bin/true\n", 0, "", false},
		{"empty", "", 1, "no PMDAs found in the configuration file \"FILE\": add lines of agents, or run without -c\n", true},
		{"access alone", "[access]\nallow \".*\" : all;\n", 1, "no PMDAs found in the configuration file \"FILE\": add lines of agents, or run without -c\n", true},
		{"programs", "x 250 pipe binary /nosuch/x\n\ny 251 pipe binary /etc/passwd\nz 252 socket inet 44399 /tmp -d\nw 253 socket inet 44400\n", 1,
			"FILE:1: the program /nosuch/x of agent \"x\" does not exist: correct its path, or build it\n" +
				"FILE:3: the program /etc/passwd of agent \"y\" is not executable: chmod +x\n" +
				"FILE:4: the program /tmp of agent \"z\" is a directory: name a file in it\n", true},
		{"bad domain", "zz 600 pipe binary /bin/true\n", 1, "pmcd config[line 1]: Error: Illegal domain number (600) for \"zz\" agent\n", false},
		{"several errors", "x 250 pipe binary /bin/true\nx 250 pipe binary /bin/true\ny 251 pipe text /bin/true\n", 1,
			"pmcd config[line 2]: Error: domain number for \"x\" agent clashes with \"x\" agent\n" +
				"pmcd config[line 3]: Error: pipe PDU type expected (`binary')\n", false},
		{"bad access", "x 250 pipe binary /bin/true\n[access]\nallow \"*\" : all;\nfoo\n", 1,
			"pmcd config[line 4]: Error: allow or disallow statement expected\n", false},
		{"no file", "", 1, "pmcd verify FILE: No such file or directory\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "programs" && runtime.GOOS == "windows" {
				t.Skip("the paths are those of Unix")
			}
			file := filepath.Join(t.TempDir(), "pmcd.conf")
			if tt.name != "no file" {
				if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want := strings.ReplaceAll(tt.want, "FILE", file)
			var got bytes.Buffer
			status := run([]string{"-v", "-c", file}, &got)
			if diff := cmp.Diff(want, got.String()); diff != "" || status != tt.status {
				t.Errorf("exit status %d, want %d (-want +got):\n%s", status, tt.status, diff)
			}
			t.Run("pmcd", func(t *testing.T) {
				pcptest.Need(t, "pmcd")
				if tt.accepted {
					want, tt.status = "", 0
				}
				_, errs, status := pcptest.Run(t, nil, "", pcptest.Tool(t, "pmcd"), "-v", "-c", file)
				if diff := cmp.Diff(want, errs); diff != "" || status != tt.status {
					t.Errorf("exit status %d, want %d (-want +got):\n%s", status, tt.status, diff)
				}
			})
		})
	}
}

// TestNumbers: -C and -M take numbers as C has them.
func TestNumbers(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-C 0x10 -M 010", "16 8"},
		{"--maxctx 3 --maxmetric=4", "3 4"},
		{"-C 0", "-C requires a positive value"},
		{"-M -1", "-M requires a positive value"},
		{"-M many", "-M requires a positive value"},
	} {
		o := new(options)
		_, errs := o.set().Parse(strings.Fields(tt.args))
		got := fmt.Sprint(o.maxContext, o.maxMetrics)
		if errs != nil {
			got = errs[0].Error()
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.args, got, tt.want)
		}
	}
}

// TestEnvironment checks that environment variables override defaults but not options, and that
// they are logged.
func TestEnvironment(t *testing.T) {
	for _, name := range []string{"PMCD_PORT", "PMCD_LOCAL", "PMCD_MAXPENDING", "PMCD_CREDS_TIMEOUT", "PMCD_SOCKET", "PMCD_RESTART_AGENTS"} {
		t.Setenv(name, "")
	}
	t.Setenv("PMCD_PORT", "1,2")
	t.Setenv("PMCD_LOCAL", "1")
	t.Setenv("PMCD_MAXPENDING", "9")
	t.Setenv("PMCD_CREDS_TIMEOUT", "7")
	o := &options{ports: []string{"3"}}
	if err := o.fromEnv(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	o.writeEnv(&log)
	const want = "Warning: nports=3 from PMCD_PORT=1,2 in environment\nWarning: localhost only from PMCD_LOCAL=1 in environment\n" +
		"Warning: maxpending=9 from PMCD_MAXPENDING=9 in environment\n"
	if diff := cmp.Diff(want, log.String()); diff != "" || strings.Join(o.ports, " ") != "1 2 3" || o.backlog() != 9 || o.hello.Seconds() != 7 {
		t.Errorf("ports %v, backlog %d, timeout %v (-want +got):\n%s", o.ports, o.backlog(), o.hello, diff)
	}
	o = &options{hello: 2}
	if err := o.fromEnv(); err != nil || o.hello != 2 {
		t.Errorf("timeout %v, %v: that of the environment in place of that of -q", o.hello, err)
	}
	t.Setenv("PMCD_CREDS_TIMEOUT", "-1")
	o = new(options)
	log.Reset()
	if err := o.fromEnv(); err != nil || o.hello != 0 {
		t.Errorf("timeout %v, %v, of a bad one", o.hello, err)
	}
	if o.writeEnv(&log); !strings.Contains(log.String(), "Warning: ignored bad value from PMCD_CREDS_TIMEOUT=-1 in environment\n") {
		t.Errorf("log:\n%s", &log)
	}
}
