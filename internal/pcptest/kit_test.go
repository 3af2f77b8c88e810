package pcptest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// verdict is a testing.TB that keeps how a test ended instead of ending it.
type verdict struct {
	testing.TB
	how string
}

func (v *verdict) end(how string) {
	v.how = how
	runtime.Goexit()
}

func (v *verdict) Skip(args ...any)                  { v.end("skip: " + fmt.Sprint(args...)) }
func (v *verdict) Skipf(format string, args ...any)  { v.end("skip: " + fmt.Sprintf(format, args...)) }
func (v *verdict) Fatal(args ...any)                 { v.end("fatal: " + fmt.Sprint(args...)) }
func (v *verdict) Fatalf(format string, args ...any) { v.end("fatal: " + fmt.Sprintf(format, args...)) }
func (v *verdict) Error(args ...any)                 { v.how = "error: " + fmt.Sprint(args...) }

// ending returns how a test ends that calls f.
func ending(t *testing.T, f func(t testing.TB)) string {
	t.Helper()
	v := &verdict{TB: t}
	var wg sync.WaitGroup
	wg.Go(func() { f(v) })
	wg.Wait()
	return v.how
}

// A missing need of each kind skips the test, or fails it with PCP_INTEROP=require.
func TestNeed(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "file"), "")
	for _, test := range []struct{ kind, present, absent string }{
		{"program", "go", "no-such-tool"},
		{"file", filepath.Join(dir, "file"), filepath.Join(dir, "none")},
		{"directory", dir, filepath.Join(dir, "none", "none")},
		{"pattern", filepath.Join(dir, "f*"), filepath.Join(dir, "g*")},
		{"header", "", "pcp/no-such-header.h"},
		{"library", "", "-lno_such_library"},
		{"user", "", "user no-such-user"},
		{"no kind", "", "no/such/kind"},
	} {
		t.Run(test.kind, func(t *testing.T) {
			for mode, want := range map[string]string{"": "skip", "require": "fatal"} {
				t.Setenv("PCP_INTEROP", mode)
				want += ": interop test needs " + test.absent + " of the real PCP: install it with .ci/install-pcp (Debian, as root)"
				if how := ending(t, func(t testing.TB) { Need(t, "go", test.absent) }); how != want {
					t.Errorf("PCP_INTEROP=%s: %q, want %q", mode, how, want)
				}
				if how := ending(t, func(t testing.TB) { Tool(t, test.absent) }); how != want {
					t.Errorf("PCP_INTEROP=%s: Tool: %q, want %q", mode, how, want)
				}
				want = strings.Replace(want, "fatal:", "error:", 1)
				if how := ending(t, func(t testing.TB) {
					if Has(t, "go", test.absent) {
						t.Fatal("it is there")
					}
				}); how != want && (mode != "" || how != "") {
					t.Errorf("PCP_INTEROP=%s: Has: %q, want %q", mode, how, want)
				}
				if test.present == "" {
					continue
				}
				if how := ending(t, func(t testing.TB) {
					if Need(t, "go", test.present); !Has(t, test.present) {
						t.Fatal("it is absent")
					}
				}); how != "" {
					t.Errorf("PCP_INTEROP=%s: %q with %s", mode, how, test.present)
				}
			}
		})
	}
}

// TestNeedOfC finds what every installation of gcc has.
func TestNeedOfC(t *testing.T) {
	Optional(t, "gcc")
	if msg := missing([]string{"-lc", "stdio.h"}); msg != "" {
		t.Skip(msg)
	}
	source := filepath.Join(t.TempDir(), "hello.c")
	writeFile(t, source, "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n")
	program := BuildC(t, source, "-lc")
	if out, errs, status := Run(t, nil, "", program); out != "hello\n" || status != 0 {
		t.Errorf("%q, %q, %d", out, errs, status)
	}
	writeFile(t, source, "#include <stdio.h>\n# include <pcp/no-such-header.h>\n")
	if how := ending(t, func(t testing.TB) { BuildC(t, source, "-lc", "-lno_such_library") }); !strings.Contains(how, "needs pcp/no-such-header.h, -lno_such_library of") {
		t.Error(how)
	}
}

// Optional programs are never required.
func TestOptional(t *testing.T) {
	for _, mode := range []string{"", "require"} {
		t.Setenv("PCP_INTEROP", mode)
		if how := ending(t, func(t testing.TB) { Optional(t, "no-such-tool") }); how != "skip: test needs no-such-tool in PATH" {
			t.Errorf("PCP_INTEROP=%s: %q", mode, how)
		}
	}
}

func TestNeedRoot(t *testing.T) {
	want := "skip: the test needs root: it mounts"
	if os.Geteuid() == 0 {
		want = ""
	}
	if how := ending(t, func(t testing.TB) { NeedRoot(t, "it mounts") }); how != want {
		t.Errorf("%q, want %q", how, want)
	}
}

// Without PCP and gcc, all functions that use them end a test as Need does.
func TestBareMachine(t *testing.T) {
	bare := t.TempDir()
	t.Setenv("PATH", bare)
	conf := pcpConf
	t.Cleanup(func() { pcpConf = conf })
	pcpConf = func() map[string]string {
		return map[string]string{"PCP_BINADM_DIR": bare, "PCP_PMDAS_DIR": bare, "PCP_VAR_DIR": bare}
	}
	for name, use := range map[string]func(t testing.TB){
		"AgentDir":      func(t testing.TB) { AgentDir(t, "simple", "") },
		"Agents":        func(t testing.TB) { Agents(t, "sample") },
		"BuildAgent":    func(t testing.TB) { BuildAgent(t, "simple") },
		"BuildC":        func(t testing.TB) { BuildC(t, "testdata/oracle.c", "-lpcp") },
		"BuildC file":   func(t testing.TB) { BuildC(t, filepath.Join(bare, "none.c")) },
		"DBPMDA":        func(t testing.TB) { DBPMDA(t, Session{}) },
		"LogImport":     func(t testing.TB) { LogImport(t, bare, nil) },
		"MMVWriter":     func(t testing.TB) { MMVWriter(t) },
		"Names":         func(t testing.TB) { Names(t, "linux") },
		"NewRoot":       func(t testing.TB) { NewRoot(t, "") },
		"Oracle":        func(t testing.TB) { Oracle(t, "units", nil) },
		"RecordSession": func(t testing.TB) { RecordSession(t, bare, nil, nil) },
		"ReplayArchive": func(t testing.TB) { ReplayArchive(t, "a", nil) },
		"Run":           func(t testing.TB) { Run(t, nil, "", "pminfo") },
		"Run path":      func(t testing.TB) { Run(t, nil, "", "/usr/lib/pcp/bin/no-such-tool") },
		"RunAll":        func(t testing.TB) { RunAll(t, nil, []string{"pminfo"}, []string{"pmval"}) },
		"RunScript":     func(t testing.TB) { RunScript(t, "trivial", "") },
		"Start":         func(t testing.TB) { Start(t, Daemon{Path: "pmcd"}) },
		"StartPMCD":     func(t testing.TB) { StartPMCD(t, Config{}) },
		"StartPMProxy":  func(t testing.TB) { StartPMProxy(t) },
		"WriteMMV":      func(t testing.TB) { WriteMMV(t, "") },
	} {
		for mode, want := range map[string]string{"": "skip", "require": "fatal"} {
			t.Setenv("PCP_INTEROP", mode)
			if how := ending(t, use); !strings.HasPrefix(how, want+": interop test needs ") {
				t.Errorf("PCP_INTEROP=%s: %s: %q, want %s", mode, name, how, want)
			}
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
