package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestHelpWidth: the lines of the usage message fit a terminal of 80 columns, but for those in pmcd's words.
func TestHelpWidth(t *testing.T) {
	for installed, width := range map[bool]int{false: 80, true: 82} {
		for line := range strings.SplitSeq((&options{installed: installed}).set().Usage(), "\n") {
			if len(line) > width {
				t.Errorf("installed %v: %d columns: %s", installed, len(line), line)
			}
		}
	}
}

// TestVerify checks configuration files as pmcd does.
func TestVerify(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		status     int
		want       string
	}{
		{"good", "x 250 pipe binary /bin/true\n", 0, ""},
		{"empty", "", 0, ""},
		{"bad domain", "zz 600 pipe binary /bin/true\n", 1, "pmcd config[line 1]: Error: Illegal domain number (600) for \"zz\" agent\n"},
		{"several errors", "x 250 pipe binary /bin/true\nx 250 pipe binary /bin/true\ny 251 pipe text /bin/true\n", 1,
			"pmcd config[line 2]: Error: domain number for \"x\" agent clashes with \"x\" agent\n" +
				"pmcd config[line 3]: Error: pipe PDU type expected (`binary')\n"},
		{"bad access", "x 250 pipe binary /bin/true\n[access]\nallow \"*\" : all;\nfoo\n", 1,
			"pmcd config[line 4]: Error: allow or disallow statement expected\n"},
		{"no file", "", 1, "pmcd verify FILE: No such file or directory\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
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
				_, errs, status := pcptest.Run(t, nil, "", pcptest.Tool(t, "pmcd"), "-v", "-c", file)
				if diff := cmp.Diff(want, errs); diff != "" || status != tt.status {
					t.Errorf("exit status %d, want %d (-want +got):\n%s", status, tt.status, diff)
				}
			})
		})
	}
}
