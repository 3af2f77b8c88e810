package pmlc

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/pcp-go/pcp/internal/scan"
)

// A Process is a logger that runs on this computer, as its map file describes it.
type Process struct {
	PID     int    // Primary for the primary logger
	Port    int    // TCP port
	Host    string // whose metrics it records
	Archive string // base name, an absolute path
	Note    string // of option -m, "" without
}

// Primary is the PID that stands for the primary logger. Processes also lists that logger with its
// process identifier.
const Primary = 0

// primaryName is the name of the primary logger's map file, which is a symbolic link to that of its
// number.
const primaryName = "primary"

// A MapFileError is a map file that is not as it should be.
type MapFileError struct {
	Path    string
	Problem string // "empty", "no port number", …
	used    bool   // what there is of it is used all the same
}

// Error is the file and what is wrong.
func (e *MapFileError) Error() string {
	return fmt.Sprintf("pmlc: map file %s: %s", e.Path, e.Problem)
}

// MapDir is the directory of map files below PCP_TMP_DIR.
func MapDir(tmp string) string { return filepath.Join(tmp, "pmlogger") }

// mapPath is the map file of a process.
func mapPath(dir string, pid int) string {
	if pid == Primary {
		return filepath.Join(dir, primaryName)
	}
	return filepath.Join(dir, strconv.Itoa(pid))
}

// Processes returns the running loggers that have map files in a directory, in the order of the
// files' names: 100 comes before 20. It may return processes together with an error, which has a
// *MapFileError for each malformed file. A directory that does not exist has no loggers.
func Processes(dir string) ([]Process, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, e := range entries { // in the order of their names
		pid, err := strconv.Atoi(e.Name())
		switch {
		case e.Name() == primaryName:
			pids = append(pids, Primary)
		case err == nil && pid > 0 && strconv.Itoa(pid) == e.Name() && running(pid):
			pids = append(pids, pid)
		}
	}
	var list []Process
	var errs []error
	for _, pid := range pids {
		p, err := readMap(dir, pid)
		if e, ok := errors.AsType[*MapFileError](err); err == nil || ok && e.used {
			list = append(list, p)
		}
		if !errors.Is(err, os.ErrNotExist) { // it has ended meanwhile
			errs = append(errs, err)
		}
	}
	return list, errors.Join(errs...)
}

// Find returns the logger with a PID, or the primary one, by its map file in a directory. The error
// is os.ErrNotExist if the file does not exist or the logger does not run. With a *MapFileError
// about a part of the file, Find may return a Process.
func Find(dir string, pid int) (Process, error) {
	if pid < 0 || pid != Primary && !running(pid) {
		return Process{}, os.ErrNotExist
	}
	return readMap(dir, pid)
}

// maxMapFile is how much of a map file is read.
const maxMapFile = 16 << 10

// readMap reads a map file. O_NONBLOCK is for a FIFO, which any user may have put there: opening it
// would otherwise wait for a writer.
func readMap(dir string, pid int) (Process, error) {
	path := mapPath(dir, pid)
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Process{}, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return Process{}, &os.PathError{Op: "read", Path: path, Err: os.ErrInvalid}
	}
	p := Process{PID: pid}
	r := bufio.NewReader(io.LimitReader(f, maxMapFile))
	line, err := r.ReadString('\n')
	if line == "" {
		return p, &MapFileError{path, "empty", false}
	}
	port, ok := parsePort(strings.TrimSuffix(line, "\n"))
	if err != nil || !ok {
		return p, &MapFileError{path, "no port number", false}
	}
	p.Port = port
	for _, field := range []struct {
		to   *string
		name string
	}{{&p.Host, "no PMCD host name"}, {&p.Archive, "no archive base pathname"}, {&p.Note, ""}} {
		line, err := r.ReadString('\n')
		*field.to = strings.TrimSuffix(line, "\n")
		if err != nil && field.name != "" && line == "" {
			return p, &MapFileError{path, field.name, true}
		}
	}
	return p, nil
}

// parsePort reads a line with a number.
func parsePort(s string) (int, bool) {
	s = strings.TrimLeft(s, scan.Blanks)
	if s == "" {
		return 0, true
	}
	n, err := strconv.ParseInt(s, 10, 32)
	return int(n), err == nil
}

// WriteMap writes the map file of a logger into a directory, and for the primary logger a link to
// it. Readers never see a partial file.
func WriteMap(dir string, p Process, primary bool) error {
	path := mapPath(dir, p.PID)
	text := fmt.Sprintf("%d\n%s\n%s\n", p.Port, oneLine(p.Host), oneLine(p.Archive))
	if p.Note != "" {
		text += oneLine(p.Note) + "\n"
	}
	if err := replaceFile(path, func(tmp string) error { return createFile(tmp, text) }); err != nil {
		return err
	}
	if !primary {
		return nil
	}
	return replaceFile(mapPath(dir, Primary), func(tmp string) error { return os.Symlink(path, tmp) })
}

// replaceFile makes a file under a temporary name, and renames it. All users may be able to write
// to the directory. So the temporary name is unpredictable, and create must not use an existing
// file, which may be a link to another one.
func replaceFile(path string, create func(tmp string) error) error {
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text())
	err := create(tmp)
	if errors.Is(err, os.ErrExist) {
		return err // it is not ours
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
	}
	return err
}

// createFile makes a file that does not exist.
func createFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// oneLine is a text without what would end the line.
func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }

// RemoveMap removes the map file of a logger, and the link of the primary one if it leads to that
// file.
func RemoveMap(dir string, pid int) error {
	link := mapPath(dir, Primary)
	path := mapPath(dir, pid)
	if to, err := os.Readlink(link); err == nil && filepath.Base(to) == filepath.Base(path) {
		os.Remove(link)
	}
	return os.Remove(path)
}
