//go:build unix

package mmv_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-go/pcp/mmv"
)

// readValue is a counter in a file, as a reader sees it. It reads a file again that its writer has
// replaced meanwhile.
func readValue(t *testing.T, path, metric string) string {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		f, err := mmv.Open(path)
		if err == nil {
			var value string
			value, err = valueOf(f, metric)
			f.Close()
			if err == nil {
				return value
			}
		}
		replaced := errors.Is(err, mmv.ErrInFlux) || errors.Is(err, mmv.ErrChanged)
		if !replaced || time.Since(begin) > 30*time.Second {
			t.Fatal(err)
		}
	}
}

// fileValue is the value of a metric, "" if the file does not have it.
func fileValue(t *testing.T, f *mmv.File, metric string) string {
	t.Helper()
	value, err := valueOf(f, metric)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func valueOf(f *mmv.File, metric string) (string, error) {
	s, err := f.Snapshot(time.Now())
	if err != nil {
		return "", err
	}
	for _, m := range s.Metrics {
		if m.Metric.Name == metric && len(m.Values) > 0 {
			return m.Values[0].Value.String(), nil
		}
	}
	return "", nil
}

func wantValue(t *testing.T, path, metric, want string) {
	t.Helper()
	if got := readValue(t, path, metric); got != want {
		t.Errorf("%s: %s is %q, want %q", path, metric, got, want)
	}
}

// onlyFile fails the test unless a directory has nothing but a file, or nothing with an empty name.
func onlyFile(t *testing.T, dir, name string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != name {
		t.Errorf("%s has %q, want %q", dir, got, name)
	}
}

func TestPublishAndClose(t *testing.T) {
	for _, process := range []mmv.ProcessCheck{mmv.ProcessOn, mmv.ProcessOff} {
		dir := t.TempDir()
		r := &mmv.Registry{Name: "app", Process: process}
		c := r.Counter("c", mmv.Metric{})
		c.Inc()
		if err := r.Publish(dir); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "app")
		info, err := os.Stat(path)
		if err != nil || info.Mode() != 0o644 {
			t.Errorf("%v, mode %v", err, info.Mode())
		}
		c.Inc()
		wantValue(t, path, "c", "2")
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		c.Inc()
		if process == mmv.ProcessOff {
			onlyFile(t, dir, "app")
			wantValue(t, path, "c", "2")
		} else {
			onlyFile(t, dir, "")
		}
		if err := r.Publish(dir); err != nil {
			t.Error(err)
		}
		wantValue(t, path, "c", "3")
		if err := errors.Join(r.Close(), r.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestDirectoryRemoved: the program continues to count, Err reports the error, and the file comes
// back with the directory. The registry checks the file at whole seconds, the test between them.
func TestDirectoryRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mmv")
	path := filepath.Join(dir, "app")
	synctest.Test(t, func(t *testing.T) {
		r := &mmv.Registry{Name: "app"}
		c := r.Counter("c", mmv.Metric{})
		if err := r.Publish(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a directory that does not exist: %v", err)
		}
		c.Inc()
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3*time.Second + 500*time.Millisecond)
		wantValue(t, path, "c", "1")
		if err := r.Err(); err != nil {
			t.Errorf("with the directory: %v", err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		c.Inc()
		d := r.Counter("d", mmv.Metric{})
		d.Add(7)
		if err := r.Err(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("without the directory: %v", err)
		}
		f, err := mmv.Read(r.Source())
		if err != nil {
			t.Fatal(err)
		}
		if got := fileValue(t, f, "d"); got != "7" {
			t.Errorf("without the directory the source has d = %q", got)
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := r.Publish(dir); err != nil {
			t.Error(err)
		}
		wantValue(t, path, "c", "2")
		wantValue(t, path, "d", "7")
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestCollision: the last one to publish has the name; the other one counts on and says so.
func TestCollision(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "app")
	a, b := &mmv.Registry{Name: "app", Process: mmv.ProcessOn}, &mmv.Registry{Name: "app", Process: mmv.ProcessOn}
	ca, cb := a.Counter("a", mmv.Metric{}), b.Counter("b", mmv.Metric{})
	if err := errors.Join(a.Publish(dir), b.Publish(dir)); err != nil {
		t.Fatal(err)
	}
	ca.Add(1)
	cb.Add(2)
	later := a.Counter("later", mmv.Metric{})
	later.Add(3)
	if err := a.Err(); err == nil || !strings.Contains(err.Error(), path+" is that of another program or registry now") {
		t.Errorf("the first one's error: %v", err)
	}
	wantValue(t, path, "b", "2")
	wantValue(t, path, "later", "")
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	wantValue(t, path, "b", "2") // Close removes its own file only
	if err := a.Publish(dir); err != nil {
		t.Error(err)
	}
	wantValue(t, path, "a", "1")
	wantValue(t, path, "later", "3")
	if err := errors.Join(b.Close(), a.Close()); err != nil {
		t.Error(err)
	}
	onlyFile(t, dir, "")
}

// TestKilled: after kill -9 another program with another schema takes over the file.
func TestKilled(t *testing.T) {
	if dir := os.Getenv("MMV_TEST_VICTIM"); dir != "" {
		r := &mmv.Registry{Name: "app"}
		r.Counter("old", mmv.Metric{}).Add(5)
		fmt.Println("published", r.Publish(dir))
		select {}
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), "MMV_TEST_VICTIM="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "published <nil>\n" {
		t.Errorf("%q, %v", line, err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	path := filepath.Join(dir, "app")
	wantValue(t, path, "old", "5")
	f, err := mmv.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := &mmv.Registry{Name: "app", Labels: mmv.Labels{"new": true}}
	r.Gauge("new", mmv.Metric{}).Set(6)
	if err := r.Publish(dir); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	wantValue(t, path, "new", "6")
	wantValue(t, path, "old", "")
	if got := fileValue(t, f, "old"); got != "5" {
		t.Errorf("who has the old file open reads %q", got)
	}
}

// TestClash: a PMID that is in another file, too, is an error, unless it is of the same metric.
func TestClash(t *testing.T) {
	dir := t.TempDir()
	publish := func(name, metric string, noPrefix bool) error {
		r := &mmv.Registry{Name: name, Cluster: 5, NoPrefix: noPrefix}
		r.Counter(metric, mmv.Metric{Item: 9})
		t.Cleanup(func() { r.Close() })
		return r.Publish(dir)
	}
	if err := os.WriteFile(filepath.Join(dir, "no_file_of_values"), make([]byte, 100), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(publish("a", "shared", true), publish("b", "shared", true)); err != nil {
		t.Errorf("a metric of two programs: %v", err)
	}
	err := publish("c", "own", false)
	if want := `metric "own" has the PMID 70.5.9, and so has "shared" in ` + filepath.Join(dir, "a"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	wantValue(t, filepath.Join(dir, "c"), "own", "0")
}

// TestSweep: what a killed program has left goes when the next one publishes.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{".app.123": 2 * time.Hour, ".app.124": 0} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	r := &mmv.Registry{Name: "app"}
	if err := r.Publish(dir); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	onlyFile(t, dir, ".app.124 app")
}

// TestFileLimit: a limit of the system on the size of files is like a full disk.
func TestFileLimit(t *testing.T) {
	if dir := os.Getenv("MMV_TEST_LIMITED"); dir != "" {
		limited(dir)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFileLimit$")
	cmd.Env = append(os.Environ(), "MMV_TEST_LIMITED="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if want := "true 500 500\n"; err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("%v, %s, want %s", err, out, want)
	}
}

// limited prints whether the registry reports the limit, and the values of a counter from its
// handle and from the file.
func limited(dir string) {
	limit := unix.Rlimit{Cur: 16 << 10, Max: 16 << 10}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		fmt.Println(err)
	}
	r := &mmv.Registry{Name: "app", Logger: slog.New(slog.DiscardHandler)}
	c := r.Counter("c", mmv.Metric{})
	v := r.InDom("d", mmv.Domain{}).Counter("v", mmv.Metric{})
	if err := r.Publish(dir); err != nil {
		fmt.Println(err)
	}
	for i := range 500 {
		v.With(fmt.Sprint("instance-", i))
		c.Inc()
	}
	f, err := mmv.Open(filepath.Join(dir, "app"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	s, err := f.Snapshot(time.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(errors.Is(r.Err(), unix.EFBIG), c.Value(), s.Metrics[0].Values[0].Value)
}
