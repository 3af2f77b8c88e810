// Package filesys copies files, and has the system write names to the disk, so that nothing is lost
// in a crash after the original was removed.
package filesys

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// SyncDir has the system write the names in a directory, where systems do that on request.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	if runtime.GOOS == "windows" || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}

// Copy makes a new file with the permissions of another and the output of convert for its bytes. A
// nil convert copies the bytes unchanged. When Copy returns, the content is on the disk, but the
// name may not be; see SyncDir. After an error Copy removes the file.
func Copy(ctx context.Context, to string, in fs.File, convert func(w io.Writer, r io.Reader) error) error {
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	if r := Reader(ctx, in); convert != nil {
		err = convert(out, r)
	} else {
		_, err = io.Copy(out, r)
	}
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		os.Remove(to)
	}
	return err
}

// Reader is a reader of r that fails when a context has ended.
func Reader(ctx context.Context, r io.Reader) io.Reader { return contextReader{ctx, r} }

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
