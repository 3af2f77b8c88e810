package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRun makes a folio of archives of this module.
func TestRun(t *testing.T) {
	t.Chdir("../../archive/testdata")
	for _, tt := range []struct {
		args, out, errs string
		status          int
	}{
		{"", usage + "\n", "", 1},
		{"-?", usage + "\n", "", 0},
		{"v3.meta v2.1 v3.0 none README.md", "v2\nv3\n", "mkaf: none: No such file\nmkaf: README.md: Not a PCP archive file\n", 0},
		{"README.md", "", "mkaf: README.md: Not a PCP archive file\nmkaf: Warning: no PCP archives found, so no folio created\n", 1},
	} {
		var out, errs bytes.Buffer
		status := run(strings.Fields(tt.args), &out, &errs)
		got := out.String()
		if strings.HasPrefix(got, "PCPFolio\nVersion: 1\n") {
			var bases []string
			for line := range strings.Lines(got) {
				if words := strings.Fields(line); words[0] == "Archive:" {
					bases = append(bases, words[2]+"\n")
				}
			}
			got = strings.Join(bases, "")
		}
		if diff := cmp.Diff([]string{tt.out, tt.errs}, []string{got, errs.String()}); diff != "" || status != tt.status {
			t.Errorf("mkaf %s: exit status %d, want %d (-want +got):\n%s", tt.args, status, tt.status, diff)
		}
	}
}

func TestBaseOf(t *testing.T) {
	for name, want := range map[string]string{
		"a.0": "a", "a.meta": "a", "a.index": "a", "a.10.meta": "a.10", "20230101.00.10.0": "20230101.00.10", "d.0/a.12.xz": "d.0/a", "a.index.zst": "a",
		"a": "a", "a.log": "a.log", "a.gz": "a",
	} {
		if got := baseOf(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
