package pmcdagent

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// engineFile returns the contents of the file of a pmie.
func engineFile(e engine, version uint32) []byte {
	b := make([]byte, engineFileSize)
	copy(b, e.config)
	copy(b[engineLog:], e.log)
	copy(b[engineHost:], e.host)
	n := binary.NativeEndian
	n.PutUint32(b[engineNumbers:], math.Float32bits(e.expected))
	for i, v := range []uint32{e.rules, e.actions, e.yes, e.no, e.unknown, e.evaluated} {
		n.PutUint32(b[engineNumbers+4+4*i:], v)
	}
	n.PutUint32(b[engineVersion:], version)
	return b
}

var someEngine = engine{config: "/etc/x.pmie", log: "<none>", host: "web1",
	rules: 2, actions: 3, yes: 4, no: 5, unknown: 6, evaluated: 7, expected: 0.5}

func TestReadEngine(t *testing.T) {
	good := engineFile(someEngine, 1)
	if got, ok := readEngine(good); !ok || got != someEngine {
		t.Errorf("got %+v, %v", got, ok)
	}
	full := engineFile(engine{config: strings.Repeat("c", engineLog), host: strings.Repeat("h", 65)}, 1)
	if got, ok := readEngine(full); !ok || len(got.config) != engineLog || len(got.host) != 65 {
		t.Errorf("texts without NUL: %+v, %v", got, ok)
	}
	for name, b := range map[string][]byte{"empty": nil, "short": good[:engineFileSize-1], "long": append(good[:engineFileSize:engineFileSize], 0),
		"another version": engineFile(someEngine, 2)} {
		if got, ok := readEngine(b); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestReadLogger(t *testing.T) {
	tests := []struct {
		text string
		want logger
		ok   bool
	}{
		{"4330\nvm\n/tmp/arch\na note\n", logger{4330, "vm", "/tmp/arch", "a note"}, true},
		{"4330\nvm\n/tmp/arch\n", logger{4330, "vm", "/tmp/arch", ""}, true},
		{"4330", logger{port: 4330}, true}, // partly written
		{"", logger{}, false},
		{"x\nvm\n", logger{}, false},
		{"-1\nvm\n", logger{}, false},
	}
	for _, tt := range tests {
		got, ok := readLogger([]byte(tt.text))
		if ok != tt.ok || got != tt.want {
			t.Errorf("%q: %+v, %v", tt.text, got, ok)
		}
	}
}

// recorderDirs creates PCP_TMP_DIR and PCP_RUN_DIR with the files of a process that has ended and
// of this process, which is the primary one.
func recorderDirs(t *testing.T) (tmp, run string, pid, gone int) {
	t.Helper()
	dead := exec.Command(os.Args[0], "-test.run=^$")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	tmp, run, pid, gone = t.TempDir(), t.TempDir(), os.Getpid(), dead.Process.Pid
	write := func(dir, name string, b []byte) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	loggers, engines := filepath.Join(tmp, "pmlogger"), filepath.Join(tmp, "pmie")
	for _, p := range []int{pid, gone} {
		write(loggers, fmt.Sprint(p), []byte("4330\nweb1\n/var/arch\n"))
		write(engines, fmt.Sprint(p), engineFile(someEngine, 1))
	}
	write(loggers, fmt.Sprint(os.Getppid()), make([]byte, maxLoggerFile+1))
	write(engines, fmt.Sprint(os.Getppid()), []byte("short"))
	write(loggers, "notes", []byte("1\n"))
	directory := 1 // a running process whose file is a directory
	if os.Getppid() == directory {
		directory = 2 // process 1 is the parent, as in a container
	}
	if err := os.Mkdir(filepath.Join(loggers, fmt.Sprint(directory)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(loggers, fmt.Sprint(pid)), filepath.Join(loggers, "primary")); err != nil {
		t.Skip("no symbolic links: ", err)
	}
	write(run, "pmie.pid", []byte(fmt.Sprint(pid)))
	return tmp, run, pid, gone
}

func TestRecorders(t *testing.T) {
	tmp, run, pid, gone := recorderDirs(t)
	b := newFixture(t, Config{TmpDir: tmp, RunDir: run})
	for name, want := range map[string]string{
		"pmlogger.host": "here.example", "pmlogger.port": "4330", "pmlogger.archive": "/var/arch", "pmlogger.pmcd_host": "web1",
		"pmie.configfile": "/etc/x.pmie", "pmie.logfile": "<none>", "pmie.pmcd_host": "web1", "pmie.numrules": "2",
		"pmie.actions": "3", "pmie.eval.true": "4", "pmie.eval.false": "5", "pmie.eval.unknown": "6",
		"pmie.eval.expected": "5.000000e-01", "pmie.eval.actual": "7",
	} {
		b.Want(name, "primary "+want, fmt.Sprint(pid, " ", want))
	}

	// The primary process can change, and processes that have ended are not listed.
	if err := os.Remove(filepath.Join(tmp, "pmlogger", "primary")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(run, "pmie.pid"), []byte(fmt.Sprint(gone)), 0o644); err != nil {
		t.Fatal(err)
	}
	b.Want("pmlogger.port", fmt.Sprint(pid, " 4330"))
	b.Want("pmie.actions", fmt.Sprint(pid, " 3"))
	if err := os.RemoveAll(tmp); err != nil {
		t.Fatal(err)
	}
	b.Want("pmlogger.port")
	b.Want("pmie.actions")
}

func TestServices(t *testing.T) {
	run := t.TempDir()
	b := newFixture(t, Config{RunDir: run})
	b.Want("services", "pmcd")
	for text, want := range map[string]string{fmt.Sprint(os.Getpid(), "\n"): "pmcd pmproxy", "0": "pmcd", "-1": "pmcd", "x": "pmcd"} {
		if err := os.WriteFile(filepath.Join(run, "pmproxy.pid"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		b.Want("services", want)
	}
}
