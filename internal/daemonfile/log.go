package daemonfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// A Log is the log file of a daemon.
type Log struct {
	*os.File
}

// OpenLog creates a log file and writes the first lines of pmOpenLog(3) to it. An older file of the
// name is kept, see Rotate.
func OpenLog(path, program string) (*Log, error) {
	f, err := Rotate(path)
	if err != nil {
		return nil, err
	}
	if err := StartLog(f, program); err != nil {
		f.Close()
		return nil, err
	}
	return &Log{f}, nil
}

// StartLog writes the first lines of a log.
func StartLog(w io.Writer, program string) error {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	_, err = fmt.Fprintf(w, "Log for %s on %s started %s\n\n", program, host, time.Now().Format(time.ANSIC))
	return err
}

// Redirect makes the file the standard output and standard error of the process, also for the run
// time and for child processes. On systems without a way to do so it replaces os.Stdout and
// os.Stderr alone.
func (l *Log) Redirect() error { return errors.Join(redirect(1, l.File), l.RedirectStderr()) }

// RedirectStderr is Redirect of standard error alone.
func (l *Log) RedirectStderr() error { return redirect(2, l.File) }

// Text returns what the log holds so far. It is that of this log even if another file has its name
// by now. A device holds nothing.
func (l *Log) Text() ([]byte, error) {
	info, err := l.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(l.File, 0, info.Size()))
}

// Finish writes the last lines and closes the file.
func (l *Log) Finish() error { return errors.Join(FinishLog(l.File), l.File.Close()) }

// FinishLog writes the last lines of a log.
func FinishLog(w io.Writer) error {
	_, err := fmt.Fprintf(w, "\nLog finished %s\n", time.Now().Format(time.ANSIC))
	return err
}

// A noCloser is a writer whose Close does nothing.
type noCloser struct{ io.Writer }

func (noCloser) Close() error { return nil }
