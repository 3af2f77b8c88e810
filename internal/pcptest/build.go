package pcptest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Build builds the main package pkg, a path relative to the root of the module
// ("./examples/pmcd"), and returns the path of the program. A test process builds each package
// once. Test processes of the same user share the linked program through the go command's cache.
func Build(t testing.TB, pkg string) string {
	t.Helper()
	out, err := once("go "+pkg, func(dir string) (string, error) {
		root, err := moduleRoot()
		if err != nil {
			return "", err
		}
		out := filepath.Join(dir, path.Base(pkg))
		if runtime.GOOS == "windows" {
			out += ".exe"
		}
		// The go command caches what go run links, not what go build links. It runs: cp program out
		args := []string{"run", "-exec", "cp", pkg, out}
		if _, err := exec.LookPath("cp"); err != nil || runtime.GOOS == "windows" {
			args = []string{"build", "-o", out, pkg}
		}
		cmd := exec.Command("go", args...)
		cmd.Dir = root
		if msg, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, msg)
		}
		return out, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// moduleRoot returns the directory of the go.mod above the working directory, which for a test is
// its package.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("pcptest: no go.mod above the working directory")
		}
		dir = up
	}
}

var made struct {
	mu  sync.Mutex
	dir string
	by  map[string]func() (string, error)
}

// once calls build with a fresh directory on the first call for a key and returns the results of
// that call on every call. The directory lasts as long as the process.
func once(key string, build func(dir string) (string, error)) (string, error) {
	made.mu.Lock()
	if made.dir == "" {
		sweep()
		dir, err := sharedTemp(fmt.Sprintf("%s%d-", madePrefix, os.Getpid()))
		if err != nil {
			made.mu.Unlock()
			return "", err
		}
		made.dir, made.by = dir, map[string]func() (string, error){}
	}
	f, ok := made.by[key]
	if !ok {
		dir := filepath.Join(made.dir, strconv.Itoa(len(made.by)))
		f = sync.OnceValues(func() (string, error) {
			if err := os.Mkdir(dir, 0o755); err != nil {
				return "", err
			}
			return build(dir)
		})
		made.by[key] = f
	}
	made.mu.Unlock()
	return f()
}

const madePrefix = "pcptest-"

// sweep removes the builds of earlier test processes, because a library cannot run code when its
// process exits. The age protects processes that are alive but whose ID is unknown here, such as
// those of a container.
func sweep() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), madePrefix+"*"))
	for _, dir := range dirs {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), madePrefix), "-")
		n, err := strconv.Atoi(pid)
		st, serr := os.Stat(dir)
		if err == nil && serr == nil && !alive(n) && time.Since(st.ModTime()) > 10*time.Minute {
			os.RemoveAll(dir)
		}
	}
}
