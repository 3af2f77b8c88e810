package pcptest

import (
	"fmt"
	"strings"
	"testing"
)

// verdict is a testing.TB that keeps how a test ended instead of ending it.
type verdict struct {
	testing.TB
	how string
}

func (v *verdict) Skip(args ...any)  { v.how = "skip: " + fmt.Sprint(args...) }
func (v *verdict) Fatal(args ...any) { v.how = "fatal: " + fmt.Sprint(args...) }

func TestNeed(t *testing.T) {
	for _, tc := range []struct{ mode, want string }{
		{"", "skip: interop test needs no-such-tool, /no/such/file of the real PCP: install it with .ci/install-pcp"},
		{"require", "fatal: interop test needs no-such-tool, /no/such/file of the real PCP: install it with .ci/install-pcp"},
	} {
		t.Setenv("PCP_INTEROP", tc.mode)
		v := &verdict{TB: t}
		if Need(v, "go", "no-such-tool", "/no/such/file"); !strings.HasPrefix(v.how, tc.want) || strings.Contains(v.how, "\n") {
			t.Errorf("PCP_INTEROP=%s: %q, want %q", tc.mode, v.how, tc.want)
		}
		v.how = ""
		if Need(v, "go"); v.how != "" {
			t.Errorf("PCP_INTEROP=%s: %q with the tool there", tc.mode, v.how)
		}
	}
}

func TestRun(t *testing.T) {
	t.Setenv("PCP_LOG_DIR", "/nowhere")
	t.Setenv("LC_MESSAGES", "de_DE")
	out, errs, status := Run(t, []string{"GOFLAGS=-mod=mod"}, "", "go", "env", "GOFLAGS")
	if out != "-mod=mod\n" || errs != "" || status != 0 {
		t.Errorf("go env: %q, %q, %d", out, errs, status)
	}
	if _, errs, status = Run(t, nil, "", "go", "no-such-command"); status != 2 || errs == "" {
		t.Errorf("go no-such-command: status %d, stderr %q", status, errs)
	}
	for _, kv := range Env() {
		if kv == "PCP_LOG_DIR=/nowhere" || kv == "LC_MESSAGES=de_DE" {
			t.Errorf("the environment has %s", kv)
		}
	}
}

func TestBuild(t *testing.T) {
	path := Build(t, "./internal/pcptest/stdiotap")
	if again := Build(t, "./internal/pcptest/stdiotap"); again != path {
		t.Errorf("built twice: %s and %s", path, again)
	}
	if _, errs, status := Run(t, nil, "", path); status != 2 || !strings.HasPrefix(errs, "usage: stdiotap") {
		t.Errorf("stdiotap: status %d, %q", status, errs)
	}
}
