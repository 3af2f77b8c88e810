package pmlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// A File is the log file of a daemon.
type File struct {
	*os.File
}

// Open creates a log file and writes the first lines of pmOpenLog(3) to it. An older file of the name is renamed to end
// in ".prev"; a device such as /dev/null is opened as it is.
func Open(path, program string) (*File, error) {
	if st, err := os.Stat(path); err != nil || st.Mode().IsRegular() {
		if err := keepOld(path); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	l := &File{f}
	if _, err := fmt.Fprintf(f, "Log for %s on %s started %s\n\n", program, host, time.Now().Format(time.ANSIC)); err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// keepOld renames an older file. Where that fails, as in a directory that belongs to another user, Open overwrites the
// file; what ends in ".prev" is then older than the log before, and is removed.
func keepOld(path string) error {
	err := os.Rename(path, path+".prev")
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.Remove(path + ".prev"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// RedirectStderr makes the file the standard error of the process, also for the run time and for child processes. On
// systems without a way to do so it replaces os.Stderr alone.
func (f *File) RedirectStderr() error { return redirectStderr(f.File) }

// Finish writes the last lines and closes the file.
func (f *File) Finish() error {
	_, err := fmt.Fprintf(f, "\nLog finished %s\n", time.Now().Format(time.ANSIC))
	return errors.Join(err, f.Close())
}
