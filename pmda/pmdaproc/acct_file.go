package pmdaproc

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// An acctFile is the file into which the kernel writes records of ended processes. Reading starts
// with the records written after it was opened.
type acctFile struct {
	paths   []string // where it may be
	private string   // the agent's own, empty for none

	f      *os.File // nil if none is open
	path   string
	offset int64
	kernel bool // the kernel writes the private file
	buf    []byte
	next   time.Time // when to look for another file
}

// errNoAccounting is the error for a file that does not have the kernel's records.
var errNoAccounting = errors.New("no file of process accounting")

// read calls each for new records, at most for the last most of them. If the file was replaced, as
// by a rotation, it continues with the new file.
func (a *acctFile) read(most int, each func(record []byte)) error {
	if a.f == nil {
		return errNoAccounting
	}
	if err := a.readOn(most, each); err != nil {
		return err
	}
	now, err := os.Stat(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is being rotated
	}
	open, err2 := a.f.Stat()
	if err = errors.Join(err, err2); err != nil || os.SameFile(now, open) {
		return err
	}
	if a.kernel { // another agent uses it; do not end its accounting
		return errNoAccounting
	}
	a.f.Close()
	if a.f, err = openAcct(a.path); err != nil {
		a.f = nil
		return err
	}
	a.offset = 0
	return a.readOn(most, each)
}

// readOn reads the rest of the file. A file that has become shorter was truncated.
func (a *acctFile) readOn(most int, each func(record []byte)) error {
	at, err := a.f.Stat()
	if err != nil {
		return err
	}
	size := at.Size() / acctRecordLength * acctRecordLength
	if size < a.offset {
		a.offset = 0
	}
	a.offset = max(a.offset, size-int64(most)*acctRecordLength)
	if a.buf == nil {
		a.buf = make([]byte, 64*acctRecordLength)
	}
	for a.offset < size {
		b := a.buf[:min(int64(len(a.buf)), size-a.offset)]
		n, err := a.f.ReadAt(b, a.offset)
		n = n / acctRecordLength * acctRecordLength
		for b := b[:n]; len(b) > 0; b = b[acctRecordLength:] {
			if !isAcctRecord(b) {
				return errNoAccounting
			}
			each(b[:acctRecordLength])
		}
		a.offset += int64(n)
		if n == 0 {
			if err == io.EOF {
				err = nil // it was just truncated
			}
			return err
		}
	}
	return nil
}

// openAcct opens a file. Its first record, if it has one, must have the known version.
func openAcct(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	first := make([]byte, acctRecordLength)
	at, err := f.Stat()
	if err == nil && at.Mode().IsRegular() {
		if n, _ := f.ReadAt(first, 0); n < acctRecordLength || isAcctRecord(first) {
			return f, nil
		}
	}
	f.Close()
	return nil, errNoAccounting
}

// open opens the first file that exists, at its end. If the agent may switch accounting on and the
// kernel does not write that file, it makes the kernel write a private one.
func (a *acctFile) open(mayEnable bool) error {
	a.close()
	err := errNoAccounting
	for _, path := range a.paths {
		if _, err2 := os.Stat(path); err2 != nil {
			continue
		}
		var at fs.FileInfo
		if a.f, err = openAcct(path); err == nil {
			a.path = path
			at, err = a.f.Stat()
		}
		if err != nil {
			break
		}
		if a.offset = at.Size() / acctRecordLength * acctRecordLength; !mayEnable || a.grows() {
			return nil
		}
		break
	}
	a.close()
	if mayEnable && a.private != "" {
		return a.enable()
	}
	return err
}

// isCurrent reports whether the path still names the file.
func (a *acctFile) isCurrent() bool {
	now, err := os.Stat(a.path)
	open, err2 := a.f.Stat()
	return err == nil && err2 == nil && os.SameFile(now, open)
}

// grows reports whether the kernel writes to the file when a process ends.
func (a *acctFile) grows() bool {
	before, err := a.f.Stat()
	if err != nil {
		return false
	}
	endProcess()
	after, err := a.f.Stat()
	return err == nil && after.Size() > before.Size()
}

// endAccounting ends the accounting of an agent that was killed, which writes to its private file.
func endAccounting(private string) {
	f, err := os.Open(private)
	if err != nil {
		return
	}
	defer f.Close()
	if (&acctFile{f: f}).grows() {
		setAccounting("")
	}
	os.Remove(private)
}

// endProcess makes a process that ends at once, because it executes a file that is not a program.
func endProcess() {
	if p, err := os.StartProcess(os.DevNull, []string{os.DevNull}, &os.ProcAttr{}); err == nil {
		p.Wait()
	}
}

// enable makes the kernel write the private file.
func (a *acctFile) enable() error {
	if err := os.MkdirAll(filepath.Dir(a.private), 0o755); err != nil {
		return err
	}
	if err := os.Remove(a.private); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(a.private, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := setAccounting(a.private); err != nil {
		f.Close()
		os.Remove(a.private)
		return &fs.PathError{Op: "acct", Path: a.private, Err: err}
	}
	a.f, a.path, a.offset, a.kernel = f, a.private, 0, true
	return nil
}

// shorten truncates the private file if it is long.
func (a *acctFile) shorten(most uint64) error {
	at, err := a.f.Stat()
	if err != nil || !a.kernel || uint64(at.Size()) <= most {
		return err
	}
	a.offset = 0
	return a.f.Truncate(0)
}

// close closes the file. If it is the private one, the kernel stops writing.
func (a *acctFile) close() {
	if a.kernel {
		if a.f != nil && a.grows() { // else the kernel writes to another file by now
			setAccounting("")
		}
		if a.isCurrent() { // else it belongs to another agent by now
			os.Remove(a.private)
		}
	}
	if a.f != nil {
		a.f.Close()
	}
	a.f, a.kernel = nil, false
}
