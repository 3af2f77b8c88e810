package archive

import (
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/internal/filesys"
	"github.com/pcp-go/pcp/pdu"
)

// A compression is a format of compressed files.
type compression struct {
	suffix  string
	reader  func(io.Reader) (io.Reader, error) // nil if a command unpacks it
	command []string                           // from standard input to standard output
}

// compressions lists the compressions in PCP's order of preference.
var compressions = []compression{
	{suffix: ".xz", command: []string{"xz", "-dc"}},
	{suffix: ".lzma", command: []string{"xz", "-dc"}},
	{suffix: ".bz2", reader: readBzip2},
	{suffix: ".bz", reader: readBzip2},
	{suffix: ".gz", reader: readGzip},
	{suffix: ".Z", command: []string{"gzip", "-dc"}}, // of compress(1)
	{suffix: ".z", command: []string{"gzip", "-dc"}},
	{suffix: ".zst", command: []string{"zstd", "-dcq"}},
}

func readBzip2(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }

func readGzip(r io.Reader) (io.Reader, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err // not a nil *gzip.Reader
	}
	return z, nil
}

// trimCompression cuts the suffix of a compression off a name. index is 1 and up for the
// compressions, 0 for none.
func trimCompression(name string) (trimmed string, index int) {
	for i, c := range compressions {
		if strings.HasSuffix(name, c.suffix) {
			return name[:len(name)-len(c.suffix)], i + 1
		}
	}
	return name, 0
}

// An unpackKey identifies the content of a file of the operating system.
type unpackKey struct {
	path string
	size int64
	time time.Time
}

// An unpacked is a temporary file with the content of a compressed file. All sets of the process
// that have the compressed file open share it.
type unpacked struct {
	*os.File
	key  unpackKey
	refs int           // guarded by shared.Mutex
	done chan struct{} // closed when File and err are set
	err  error
}

// shared has the temporary files that are in use.
var shared = struct {
	sync.Mutex
	files map[unpackKey]*unpacked
}{files: map[unpackKey]*unpacked{}}

// unpackShared returns the file that unpack makes, or one that is still in use for the same key. If
// another caller was unpacking and its context ended, unpackShared starts again.
func unpackShared(ctx context.Context, key unpackKey, unpack func() (*os.File, error)) (*unpacked, error) {
	for {
		shared.Lock()
		u, found := shared.files[key]
		if !found {
			u = &unpacked{key: key, done: make(chan struct{})}
			shared.files[key] = u
		}
		u.refs++
		shared.Unlock()
		if !found {
			u.File, u.err = unpack()
			close(u.done)
		}
		select {
		case <-u.done:
		case <-ctx.Done():
			u.release()
			return nil, context.Cause(ctx)
		}
		if u.err == nil {
			return u, nil
		}
		err := u.err
		u.release()
		switch ended := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded); {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !found || !ended:
			return nil, err
		}
	}
}

// Close gives up the file. The last user removes it.
func (u *unpacked) Close() error { return u.release() }

func (u *unpacked) release() error {
	shared.Lock()
	u.refs--
	last := u.refs == 0
	// A file that could not be unpacked must not be found again.
	if failed := isClosed(u.done) && u.err != nil; (last || failed) && shared.files[u.key] == u {
		delete(shared.files, u.key)
	}
	shared.Unlock()
	if !last {
		return nil
	}
	<-u.done
	if u.File == nil {
		return nil
	}
	return closeTemp(u.File)
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

const (
	// packedRatio is how many times its size a compressed file may unpack to. Usual archives reach
	// 100, and zeros reach 7000 with xz(1).
	packedRatio = 500
	// minUnpacked is the number of bytes that any compressed file may unpack to.
	minUnpacked = 64 << 20
	// 1/spaceShare of a file system stays free, but at most maxSpaceKept bytes.
	spaceShare   = 32
	maxSpaceKept = 256 << 20
	// spaceEvery is the number of bytes between two checks of the free space.
	spaceEvery = 16 << 20
)

// unpackLimit returns the maximum number of bytes that a compressed file of a size may unpack to.
func (o *Options) unpackLimit(packed int64) int64 {
	if o.MaxUnpacked != 0 {
		return o.MaxUnpacked
	}
	return min(max(minUnpacked, packed*packedRatio), maxUnpacked)
}

// spaceKept returns the number of bytes to leave free on a file system of a size.
func spaceKept(size int64) int64 {
	return min(size/spaceShare, maxSpaceKept)
}

// A tempFile is a temporary file that only this process uses.
type tempFile struct{ *os.File }

func (f tempFile) Close() error { return closeTemp(f.File) }

// closeTemp closes a temporary file and removes it. Some systems cannot remove an open file.
func closeTemp(f *os.File) error {
	err := f.Close()
	if rm := os.Remove(f.Name()); err == nil && !errors.Is(rm, fs.ErrNotExist) {
		err = rm
	}
	return err
}

// copyToTemp writes what fill writes to a temporary file, of at most limit bytes.
func copyToTemp(dir string, limit int64, fill func(io.Writer) error) (*os.File, error) {
	f, err := os.CreateTemp(dir, "pcp-archive-*")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name()) // fails where open files cannot be removed; see closeTemp
	w := &limitedWriter{w: f, left: limit, space: func() bool { return hasSpace(f) }}
	err = fill(w)
	switch {
	case w.exceeded:
		err = flawed(pdu.ErrLogRec, "unpacks to more than %d bytes (Options.MaxUnpacked)", limit)
	case w.full:
		err = &fs.PathError{Op: "unpack", Path: filepath.Dir(f.Name()), Err: syscall.ENOSPC}
	}
	if err != nil {
		closeTemp(f)
		return nil, err
	}
	return f, nil
}

// A limitedWriter fails after a number of bytes, or when too little space is left.
type limitedWriter struct {
	w              io.Writer
	left           int64
	unseen         int64       // bytes written since space was last called
	space          func() bool // whether there is space for more
	exceeded, full bool
}

func (l *limitedWriter) Write(p []byte) (int, error) {
	if int64(len(p)) > l.left {
		l.exceeded = true
		return 0, io.ErrShortWrite
	}
	l.left -= int64(len(p))
	if l.unseen += int64(len(p)); l.unseen >= spaceEvery {
		l.unseen = 0
		if l.full = !l.space(); l.full {
			return 0, io.ErrShortWrite
		}
	}
	return l.w.Write(p)
}

// unpackTo unpacks r to w.
func (c compression) unpackTo(ctx context.Context, w io.Writer, r io.Reader) error {
	if c.command != nil {
		return c.runCommand(ctx, w, r)
	}
	z, err := c.reader(r)
	if err == nil {
		_, err = io.Copy(w, filesys.Reader(ctx, z))
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return flawed(pdu.ErrLogRec, "cannot be unpacked: %v", err)
}

// runCommand unpacks with the command.
func (c compression) runCommand(ctx context.Context, w io.Writer, r io.Reader) error {
	name, err := exec.LookPath(c.command[0])
	if err != nil {
		return flawed(pdu.ErrLogRec, "cannot be unpacked without the command %s: install it, or unpack the file", c.command[0])
	}
	cmd := exec.CommandContext(ctx, name, c.command[1:]...)
	var stderr firstBytes
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r, w, &stderr
	err = cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return flawed(pdu.ErrLogRec, "cannot be unpacked: %v: %s", err, strings.TrimSpace(string(stderr)))
}

// firstBytes keeps the start of what is written.
type firstBytes []byte

func (f *firstBytes) Write(p []byte) (int, error) {
	*f = append(*f, p[:min(len(p), 1<<10-len(*f))]...)
	return len(p), nil
}

// openSource opens a file, unpacked if it is compressed.
func (o *Options) openSource(ctx context.Context, name string) (source, error) {
	d := disk{o.FS}
	f, err := d.open(name)
	if err != nil {
		return nil, err
	}
	_, packed := trimCompression(name)
	if src, ok := f.(source); ok && packed == 0 {
		return src, nil
	}
	defer f.Close()
	fill := func(w io.Writer) error {
		if packed == 0 {
			_, err := io.Copy(w, filesys.Reader(ctx, f))
			return err
		}
		return compressions[packed-1].unpackTo(ctx, w, f)
	}
	unpack := func() (*os.File, error) {
		limit := limitOr(o.MaxUnpacked, maxUnpacked)
		if packed != 0 {
			info, err := f.Stat()
			if err != nil {
				return nil, err
			}
			limit = o.unpackLimit(info.Size())
		}
		return copyToTemp(o.TempDir, limit, fill)
	}
	if o.FS != nil {
		t, err := unpack()
		if err != nil {
			return nil, err
		}
		return tempFile{t}, nil
	}
	key, err := keyOf(name, f)
	if err != nil {
		return nil, err
	}
	return unpackShared(ctx, key, unpack)
}

func keyOf(name string, f fs.File) (unpackKey, error) {
	info, err := f.Stat()
	if err != nil {
		return unpackKey{}, err
	}
	abs, err := filepath.Abs(name)
	return unpackKey{abs, info.Size(), info.ModTime()}, err
}

func limitOr(limit, otherwise int64) int64 {
	if limit == 0 {
		return otherwise
	}
	return limit
}

// withoutPath removes the path from an error, because the caller adds it.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", e.Op, e.Err)
	}
	return err
}
