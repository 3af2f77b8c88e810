package mmv

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestExplain: errors give the cause and do not name unfinished files.
func TestExplain(t *testing.T) {
	f := &publication{dir: t.TempDir(), advice: "set PCP_TMP_DIR"}
	path := filepath.Join(f.dir, "app")
	notWritable := "directory " + f.dir + " is not writable: let this user write there, or set PCP_TMP_DIR: "
	missing := "directory " + f.dir + " does not exist: create it, or set PCP_TMP_DIR: " // even if it is back by now
	other := errors.New("other")
	for _, test := range []struct {
		err, is error
		want    string
	}{
		{&fs.PathError{Op: "open", Path: path + ".123", Err: syscall.EACCES}, fs.ErrPermission, notWritable + syscall.EACCES.Error()},
		{&fs.PathError{Op: "open", Path: path + ".123", Err: errReadOnly}, errReadOnly, notWritable + errReadOnly.Error()},
		{&fs.PathError{Op: "open", Path: path + ".123", Err: syscall.ENOENT}, fs.ErrNotExist, missing + syscall.ENOENT.Error()},
		{&fs.PathError{Op: "stat", Path: path, Err: syscall.ENOENT}, fs.ErrNotExist, "file " + path + ": stat: " + syscall.ENOENT.Error()},
		{&os.LinkError{Op: "rename", Old: path + ".123", New: path, Err: syscall.EISDIR}, syscall.EISDIR,
			"file " + path + ": rename: " + syscall.EISDIR.Error()},
		{other, other, "other"},
	} {
		if got := f.explain(path, test.err); got.Error() != test.want || !errors.Is(got, test.is) {
			t.Errorf("%v: %q, want %q", test.err, got, test.want)
		}
	}
}
