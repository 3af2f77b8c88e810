package archive

import (
	"container/list"
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"

	"github.com/pcp-go/pcp/pdu"
)

// maxOpenFiles is how many files a set keeps open. A set may have more files than a process may
// have descriptors.
const maxOpenFiles = 64

// A filePool closes the least recently read files of a set. At most maxOpenFiles are open, unless
// more are being read at the same time.
type filePool struct {
	mu   sync.Mutex
	open list.List // of *pooledFile, the most recently read first
}

// A pooledFile is a file that the pool may close, and that opens again when it is read.
type pooledFile struct {
	pool *filePool
	opts *Options
	path string

	opening sync.Mutex  // serializes opening
	info    fs.FileInfo // of the file when it was last opened

	// The mutex of the pool guards the rest.
	src    source        // nil while it is closed
	place  *list.Element // in pool.open, while it is open
	reads  int           // reads in progress
	closed bool
}

// openFile opens a file.
func (p *filePool) openFile(ctx context.Context, o *Options, path string) (source, error) {
	f := &pooledFile{pool: p, opts: o, path: path}
	if _, err := f.acquire(ctx); err != nil {
		return nil, err
	}
	f.release()
	return f, nil
}

// acquire opens the file if it is not open, and keeps it open until release.
func (f *pooledFile) acquire(ctx context.Context) (source, error) {
	f.opening.Lock()
	defer f.opening.Unlock()
	src, err := f.acquireOpen(nil)
	if src != nil || err != nil {
		return src, err
	}
	if src, err = f.reopen(ctx); err != nil { // without the pool's lock: unpacking takes long
		return nil, err
	}
	return f.acquireOpen(src)
}

// acquireOpen acquires the file if it is open. If opened is not nil, it becomes the open file. If
// the file is not open and opened is nil, acquireOpen returns nil.
func (f *pooledFile) acquireOpen(opened source) (source, error) {
	f.pool.mu.Lock()
	defer f.pool.mu.Unlock()
	switch {
	case f.closed && opened != nil:
		return nil, errors.Join(errClosed, opened.Close())
	case f.closed:
		return nil, errClosed
	case opened != nil:
		f.src, f.place = opened, f.pool.open.PushFront(f)
	case f.src == nil:
		return nil, nil
	default:
		f.pool.open.MoveToFront(f.place)
	}
	f.reads++
	f.pool.shrink()
	return f.src, nil
}

// reopen opens the file. It fails if another file now has the path.
func (f *pooledFile) reopen(ctx context.Context) (source, error) {
	src, err := f.opts.openSource(ctx, f.path)
	if err != nil {
		return nil, err
	}
	info, err := src.Stat()
	_, plain := src.(*os.File) // an unpacked file is different each time
	if err == nil && plain && f.info != nil && !os.SameFile(info, f.info) {
		err = flawed(pdu.ErrLogFile, "was replaced while it was read")
	}
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	f.info = info
	return src, nil
}

// release ends a read.
func (f *pooledFile) release() {
	f.pool.mu.Lock()
	defer f.pool.mu.Unlock()
	f.reads--
	f.pool.shrink()
}

// shrink closes files that are not being read, while too many are open.
func (p *filePool) shrink() {
	for e := p.open.Back(); e != nil && p.open.Len() > maxOpenFiles; {
		f, before := e.Value.(*pooledFile), e.Prev()
		if f.reads == 0 {
			f.put() // closing a file that was only read loses no data
		}
		e = before
	}
}

// put closes the file until it is read again.
func (f *pooledFile) put() error {
	if f.src == nil {
		return nil
	}
	f.pool.open.Remove(f.place)
	err := f.src.Close()
	f.src, f.place = nil, nil
	return err
}

// ReadAt reads from the file.
func (f *pooledFile) ReadAt(b []byte, off int64) (int, error) {
	src, err := f.acquire(context.Background())
	if err != nil {
		return 0, err
	}
	defer f.release()
	return src.ReadAt(b, off)
}

// Stat describes the file as it is now.
func (f *pooledFile) Stat() (fs.FileInfo, error) {
	src, err := f.acquire(context.Background())
	if err != nil {
		return nil, err
	}
	defer f.release()
	return src.Stat()
}

// Close closes the file permanently. Reads in progress fail.
func (f *pooledFile) Close() error {
	f.pool.mu.Lock()
	defer f.pool.mu.Unlock()
	f.closed = true
	return f.put()
}
