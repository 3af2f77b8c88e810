package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"

	"github.com/pcp-go/pcp/internal/filesys"
	"github.com/pcp-go/pcp/internal/rawconn"
)

// maxFileLen returns the largest file whose offsets fit into the index of a version.
func maxFileLen(version int) int64 {
	if version == 2 {
		return math.MaxInt32
	}
	return math.MaxInt64
}

// An outFile is a file that grows by whole records. The zero outFile is a file that does not exist
// yet.
type outFile struct {
	path   string
	f      *os.File
	size   int64
	broken error       // why the end of the file is unknown; nil if it is known
	behind *behind     // writes to f, if not nil
	direct io.WriterAt // append writes to it instead of f, if not nil
	stored *storedFile // the file in a Storage, if not nil; f is then nil
}

// createFile creates a file that already has its first bytes when other processes can see it. If
// the file exists, the error is fs.ErrExist.
func createFile(path string, b []byte) (*outFile, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, inFile(path, fs.ErrExist)
	}
	f, err := createTemp(path)
	if err != nil {
		return nil, inFile(path, withoutPath(err))
	}
	if _, err = f.Write(b); err == nil {
		err = publish(f.Name(), path)
	}
	if err != nil {
		f.Close()
		os.Remove(f.Name())
		return nil, inFile(path, withoutPath(err))
	}
	return &outFile{path: path, f: f, size: int64(len(b))}, nil
}

// tempSuffix ends the names of incomplete files.
const tempSuffix = ".tmp"

// createTemp creates a file beside path, with the permissions of other new files. Its name is not
// that of a file of an archive.
func createTemp(path string) (*os.File, error) {
	for try := 0; ; try++ {
		name := fmt.Sprintf("%s.%08x%s", path, rand.Uint32(), tempSuffix)
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil || !errors.Is(err, fs.ErrExist) || try == 100 {
			return f, err
		}
	}
}

// publish gives a temporary file its final name. It fails with fs.ErrExist if the name is in use.
func publish(temp, path string) error {
	err := os.Link(temp, path)
	switch {
	case err == nil:
		os.Remove(temp) // if it fails, a file remains that no archive contains
		return nil
	case errors.Is(err, fs.ErrExist):
		return fs.ErrExist
	}
	return os.Rename(temp, path) // the file system has no hard links
}

// append adds bytes. If it fails, it has added none of them, unless the file has a behind.
func (o *outFile) append(b []byte) error {
	if o.stored != nil {
		return o.stored.append(o, b)
	}
	if o.behind != nil {
		o.size += int64(len(b))
		return inFile(o.path, o.behind.append(b))
	}
	if o.broken != nil {
		return inFile(o.path, o.broken)
	}
	to := o.direct
	if to == nil {
		to = o.f
	}
	_, err := to.WriteAt(b, o.size)
	if err == nil {
		o.size += int64(len(b))
		return nil
	}
	err = withoutPath(err)
	if cut := o.f.Truncate(o.size); cut != nil {
		o.broken = fmt.Errorf("a record that could not be written could not be removed: %w", withoutPath(cut))
	}
	return inRecord(o.path, o.size, -1, err)
}

// writeDirectly hides writes from the Go scheduler; see WriterOptions.Direct.
func (o *outFile) writeDirectly() {
	if o != nil && o.f != nil {
		o.direct = rawconn.NewWriterAt(o.f)
	}
}

func (o *outFile) close() error {
	if o == nil || o.f == nil {
		return nil
	}
	var behind error
	if o.behind != nil {
		behind = o.behind.close()
	}
	err := o.f.Close()
	o.f = nil
	return inFile(o.path, errors.Join(behind, withoutPath(err)))
}

// flush waits until the behind has written all bytes.
func (o *outFile) flush() error {
	if o == nil || o.behind == nil {
		return nil
	}
	return inFile(o.path, o.behind.flush())
}

func (o *outFile) sync() error {
	if o == nil || o.stored != nil {
		return nil
	}
	return inFile(o.path, withoutPath(o.f.Sync()))
}

// syncDir writes the names in a directory to stable storage.
func syncDir(dir string) error { return inFile(dir, withoutPath(filesys.SyncDir(dir))) }
