package pmns

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/pcp-go/pcp/internal/pmcpp"
)

// maxLine is the limit of the C library for a line after preprocessing, without its newline.
const maxLine = 254

// A Loader reads name space files. The zero Loader reads from the file system
// and allows several names for one PMID, as a collector does by default.
type Loader struct {
	// Open opens the main file or an included one by its name, which has slashes. If Open is nil,
	// the Loader opens regular files and character devices of the file system. Otherwise it reads
	// only through Open, which confines untrusted text.
	Open func(name string) (io.ReadCloser, error)

	// Unique refuses a second name for a PMID, except for dynamic roots. It is like dupok = 0 of
	// pmLoadASCIINameSpace(3), and like option -N of pmcd.
	Unique bool
}

// Load reads the name space in the named file, or the installed one for "":
// $PMNS_DEFAULT, or pmns/root in $PCP_VAR_DIR (/var/lib/pcp if unset).
// Two names for one PMID are allowed.
//
// Errors are *[ParseError], and *[OpError] if a file cannot be read. The
// counterpart of pmLoadNameSpace(3).
func Load(name string) (*Tree, error) { return new(Loader).Load(name) }

// DefaultFile is the file of the installed name space, which Load reads for "".
func DefaultFile() string {
	if name := os.Getenv("PMNS_DEFAULT"); name != "" {
		return name
	}
	return path.Join(varDir(), "root")
}

// Parse reads the name space in r. The name stands in errors. An included file that does not exist
// under its name is searched for in the directory of name, and then in the pmns directory of
// $PCP_VAR_DIR (/var/lib/pcp if unset). Use a Loader with an Open for text that should not have
// access to the file system.
func Parse(name string, r io.Reader) (*Tree, error) { return new(Loader).Parse(name, r) }

// Load is [Load] with the settings of l. The counterpart of
// pmLoadASCIINameSpace(3).
func (l *Loader) Load(name string) (*Tree, error) {
	if name == "" {
		name = DefaultFile()
	}
	f, err := l.open(name)
	if e, ok := errors.AsType[*ParseError](err); ok {
		return nil, e
	}
	if err != nil {
		return nil, &OpError{Op: "load", Name: name, Err: err}
	}
	defer f.Close()
	return l.Parse(name, f)
}

// Parse is [Parse] with the settings of l.
func (l *Loader) Parse(name string, r io.Reader) (*Tree, error) {
	c := pmcpp.Config{Open: l.open, Dirs: []string{varDir()}, MaxLine: maxLine}
	src := c.NewReader(name, r)
	defer src.Close()
	defs, err := parse(src)
	if err != nil {
		return nil, err
	}
	root, fault := link(defs)
	if fault == nil && l.Unique {
		fault = checkUnique(root)
	}
	if fault != nil {
		fault.File = name
		return nil, fault
	}
	return &Tree{root: root}, nil
}

func (l *Loader) open(name string) (io.ReadCloser, error) {
	if l.Open != nil {
		return l.Open(name)
	}
	// Opening a FIFO would wait for its writer, so look first.
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() { // report what pmcpp says about a directory
		return nil, &ParseError{File: name, Text: "pmcpp: " + name + ":\npmcpp: Error: No such file or directory",
			Msg: "pmcpp returned non-zero exit status"}
	}
	if m := info.Mode(); !m.IsRegular() && m&fs.ModeCharDevice == 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return os.Open(name)
}

// varDir returns the directory of installed name space files.
func varDir() string {
	dir := os.Getenv("PCP_VAR_DIR")
	if dir == "" {
		dir = "/var/lib/pcp"
	}
	return path.Join(filepath.ToSlash(dir), "pmns")
}
