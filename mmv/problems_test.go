package mmv_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/mmv"
)

// wantLog compares what was logged since the last call with parts of its lines.
func wantLog(t *testing.T, log *pcptest.LogBuffer, want ...string) {
	t.Helper()
	text := log.Take()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if text == "" {
		lines = nil
	}
	if len(lines) != len(want) {
		t.Errorf("%d lines, want %d:\n%s", len(lines), len(want), text)
		return
	}
	for i, l := range lines {
		if !strings.HasPrefix(l, "level=WARN msg=instrumentation registry=app err=") || !strings.Contains(l, want[i]) {
			t.Errorf("line %q, want %q", l, want[i])
		}
	}
}

// TestLogRegistrations: a registration's problem is logged once. It is logged when the values can
// first be seen, or immediately if they already can.
func TestLogRegistrations(t *testing.T) {
	log := new(pcptest.LogBuffer)
	r := &mmv.Registry{Name: "app", Logger: log.Logger(slog.LevelInfo)}
	r.Counter("a-b", mmv.Metric{})
	wantLog(t, log)
	r.Source()
	wantLog(t, log, "a-b")
	r.Source()
	wantLog(t, log)
	v := r.InDom("d", mmv.Domain{}).Counter("v", mmv.Metric{})
	v.With("x\ny").Inc()
	wantLog(t, log, "control characters")
	v.With("x\ny").Inc()
	r.Source()
	wantLog(t, log)
}

// TestLogFile: each thing that goes wrong with a file is logged once. The test does its part
// between the registry's looks at the file, which are at whole seconds: at the same instant both
// would call the system at once.
func TestLogFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mmv")
	synctest.Test(t, func(t *testing.T) {
		log := new(pcptest.LogBuffer)
		r := &mmv.Registry{Name: "app", Logger: log.Logger(slog.LevelInfo)}
		c := r.Counter("c", mmv.Metric{})
		err := r.Publish(dir)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
		missing := "directory " + dir + " does not exist: create it, or give Publish another one: "
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
			t.Errorf("%v, want %s", err, missing)
		}
		wantLog(t, log, missing)
		time.Sleep(10*time.Second + 500*time.Millisecond)
		wantLog(t, log)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		wantLog(t, log, missing)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		other := &mmv.Registry{Name: "app"}
		if err := other.Publish(dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10*time.Second + 250*time.Millisecond)
		c.Inc()
		wantLog(t, log, "is that of another program or registry now")
		if err := errors.Join(r.Close(), other.Close()); err != nil {
			t.Error(err)
		}
		wantLog(t, log)
	})
}

// TestLogThroughItself: problems go to a log that the same registry counts, with instances that are
// new, even a bad one.
func TestLogThroughItself(t *testing.T) {
	old := slog.Default()
	defer slog.SetDefault(old)
	log := new(pcptest.LogBuffer)
	r := &mmv.Registry{Name: "app"}
	seen := r.InDom("seen", mmv.Domain{}).Counter("seen", mmv.Metric{})
	text := slog.NewTextHandler(log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		seen.With(a.Key).Inc()
		seen.With("bad\n" + a.Key).Inc()
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	slog.SetDefault(slog.New(r.LogHandler("log", text)))
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Source()
		r.OnRead(func() { r.Counter("a b", mmv.Metric{}) })
		r.Counter("a-b", mmv.Metric{})
		r.Source()
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("the log hangs")
	}
	got := log.Take()
	if strings.Count(got, "a-b") != 1 || strings.Count(got, "a b") != 1 || !strings.Contains(got, "control characters") {
		t.Errorf("log:\n%s", got)
	}
	if seen.With("err").Value() == 0 {
		t.Error("nothing was counted")
	}
}

// TestFileErrors: errors name the directory and say what to do.
func TestFileErrors(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("PCP_TMP_DIR", tmp)
	r := &mmv.Registry{Name: "app", Logger: slog.New(slog.DiscardHandler)}
	err := r.Publish("")
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	defer r.Close()
	dir := filepath.Join(tmp, "mmv")
	want := "directory " + dir + " does not exist: create it, or set PCP_TMP_DIR: "
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Publish(""); err == nil || !strings.Contains(err.Error(), dir+" is not a directory") {
		t.Error(err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "app"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := r.Publish(""); err == nil || !strings.Contains(err.Error(), "file "+filepath.Join(dir, "app")+": rename: ") {
		t.Error(err)
	}
}
