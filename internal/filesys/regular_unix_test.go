//go:build unix

package filesys

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestPlanted opens and writes files in the place of a link to another file, and of a FIFO: nothing
// is written through the link, and nothing waits.
func TestPlanted(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("victim"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, plant := range map[string]func(path string) error{
		"link":          func(path string) error { return os.Symlink(victim, path) },
		"dangling link": func(path string) error { return os.Symlink(filepath.Join(dir, "new"), path) },
		"FIFO":          func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		path := filepath.Join(dir, name)
		if err := plant(path); err != nil {
			t.Fatal(err)
		}
		for _, flag := range []int{os.O_RDONLY, os.O_RDWR | os.O_CREATE} {
			if f, err := OpenRegular(path, flag, 0o600); err == nil {
				f.Close()
				t.Errorf("%s: opened", name)
			}
		}
		if err := WriteNew(path, []byte("text"), 0o600); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		f, err := OpenRegular(path, os.O_RDONLY, 0)
		if err != nil {
			t.Errorf("%s: after WriteNew: %v", name, err)
			continue
		}
		f.Close()
	}
	if b, _ := os.ReadFile(victim); string(b) != "victim" {
		t.Errorf("the victim is %q", b)
	}
	if _, err := os.Lstat(filepath.Join(dir, "new")); err == nil {
		t.Error("a file was made through a link")
	}
	f, err := OpenRegular(filepath.Join(dir, "created"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// TestPlantedMeanwhile opens and writes a file while another program plants links and FIFOs in its
// place: nothing is written through a link, and nothing waits.
func TestPlantedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	victim, absent, path := filepath.Join(dir, "victim"), filepath.Join(dir, "absent"), filepath.Join(dir, "file")
	if err := os.WriteFile(victim, []byte("victim"), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var attacker sync.WaitGroup
	attacker.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			os.Remove(path)
			switch n % 4 {
			case 0:
				os.Symlink(victim, path)
			case 1:
				syscall.Mkfifo(path, 0o600)
			case 2:
				os.Symlink(absent, path)
			case 3:
				os.WriteFile(path+".new", nil, 0o600)
				os.Rename(path+".new", path)
			}
		}
	})
	many, refused := pcptest.AttackSize(200, 100_000), 0
	pcptest.Attack(t, func() {
		for range many {
			f, err := OpenRegular(path, os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				refused++
			} else {
				f.WriteString("text")
				f.Close()
			}
			if WriteNew(path, []byte("text"), 0o600) != nil {
				refused++
			}
		}
	}, nil)
	close(done)
	attacker.Wait()
	t.Logf("refused: %d of %d files", refused, 2*many)
	if b, err := os.ReadFile(victim); err != nil || string(b) != "victim" {
		t.Errorf("the victim is %q, %v", b, err)
	}
	if _, err := os.Lstat(absent); err == nil {
		t.Error("a file was made through a link")
	}
}
