//go:build unix

package filesys_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/pcp-go/pcp/internal/filesys"
)

// TestSetOwner gives a file the permissions of another, and for root the owner; for others, that of
// root is not an error.
func TestSetOwner(t *testing.T) {
	dir := t.TempDir()
	path, like := filepath.Join(dir, "file"), filepath.Join(dir, "like")
	for _, path := range []string{path, like} {
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(like, 0o604); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(like, 1, 2); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.Stat(like)
	if err != nil {
		t.Fatal(err)
	}
	if err := filesys.SetOwner(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	is, was := got.Sys().(*syscall.Stat_t), want.Sys().(*syscall.Stat_t)
	if got.Mode() != want.Mode() || is.Uid != was.Uid || is.Gid != was.Gid {
		t.Errorf("%v %d:%d, want %v %d:%d", got.Mode(), is.Uid, is.Gid, want.Mode(), was.Uid, was.Gid)
	}
	if root, err := os.Stat("/"); err != nil || os.Geteuid() != 0 && filesys.SetOwner(path, root) != nil {
		t.Error("another owner is an error")
	}
}
