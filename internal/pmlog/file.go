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

// Open makes a log file with the first lines that pmOpenLog(3) writes. A file that is there gets ".prev" after its
// name; a device such as /dev/null is written to where it is.
func Open(path, program string) (*File, error) {
	if st, err := os.Stat(path); err != nil || st.Mode().IsRegular() {
		if err := keep(path); err != nil {
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

// keep moves the file that is there out of the way.
func keep(path string) error {
	err := os.Rename(path, path+".prev")
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	// A directory that is not ours may hold a file that is.
	if err := os.Remove(path + ".prev"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// TakeStderr makes what is written to this process's standard error, by whomever, go to the file. Where a system has
// no way to do so, only what the program writes to os.Stderr does.
func (f *File) TakeStderr() error { return takeStderr(f.File) }

// Finish writes the last lines.
func (f *File) Finish() error {
	_, err := fmt.Fprintf(f, "\nLog finished %s\n", time.Now().Format(time.ANSIC))
	return errors.Join(err, f.Close())
}
