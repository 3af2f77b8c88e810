// Package pmafm is the command of that name.
package pmafm

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pcp-go/pcp/internal/build"
	"github.com/pcp-go/pcp/internal/folio"
)

const usage = "Usage: pmafm folioname [command [arg ...]]\n"

const help = `PCP Archive Folio Manager

Commands:
  archives		- select all archives
  archives N[,...]	- select archives with these ordinal numbers
  archives name[,...]	- select archives with these names
  check			- integrity check for folio
  help			- this message
  hosts 		- select archives for all hosts (the default)
  hosts hostname[,...]	- select archives for just these hosts
  list [verbose]	- display folio contents
  quit			- exit
  remove		- echo the sh(1) command to delete all files
			  associated with the folio
  repeat tool [arg ...]	- execute a known PCP tool on each archive in turn
  replay		- replay archives using the tool that created the folio
  [run] tool [arg ...]	- execute a known PCP tool on the selected archives
  selections		- list selected archives
  
Selection:
  If specified, both the "archives" and the "hosts" selection criteria
  are applied as a conjunction.
`

// Main is the command pmafm; it does not return.
func Main() { os.Exit(run(os.Args[1:])) }

// run executes the command of the arguments, or the commands of standard input.
func run(args []string) (status int) {
	switch {
	case build.Asked(args):
		fmt.Print(build.Text("pmafm"))
		return 0
	case len(args) == 0:
		fmt.Fprint(os.Stderr, usage)
		return 1
	case args[0] == "-?" || args[0] == "--help":
		fmt.Fprint(os.Stderr, usage, help)
		fmt.Println()
		return 1
	}
	m, err := open(args[0])
	if err != nil {
		fmt.Fprintf(os.Stderr, "pmafm: %v\n", err)
		return 1
	}
	if m.tools, err = readTools(); err != nil {
		fmt.Printf("pmafm: Warning: %v\n", err)
	}
	if len(args) > 1 {
		return m.do(args[1], args[2:])
	}
	return m.interact()
}

// A manager is a folio and the selection.
type manager struct {
	folio.Folio
	name  string // of the folio's file, without its directory
	dir   string // its directory, with a slash at the end; empty if the folio was named without one, or in "."
	tools tools

	hosts    []string // that are selected; nil for all
	archives []int    // indexes of those that are selected, in the order of the command; nil for all
	done     bool     // quit
}

// open reads a folio.
func open(path string) (*manager, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open folio \"%s\"", path)
	}
	m := &manager{Folio: folio.Parse(text), name: filepath.Base(path)}
	// "./name" also counts as a name without a directory, but "././name" does not.
	if i := strings.LastIndexByte(path, filepath.Separator); i >= 0 && strings.TrimRight(path[:i], string(filepath.Separator)) != "." {
		dir, err := filepath.Abs(path[:i+1])
		if err != nil {
			return nil, err
		}
		m.dir = strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator)
	}
	if !m.Magic || !m.Version {
		return nil, fmt.Errorf("\"%s\" is not in PCP archive folio format", m.path(m.name))
	}
	return m, nil
}

// path returns the path of a file that the folio names.
func (m *manager) path(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return m.dir + name
}

// interact executes the commands of standard input.
func (m *manager) interact() int {
	for !m.done {
		fmt.Print("pmafm> ")
		line, err := readLine(os.Stdin)
		if words := strings.Fields(line); len(words) > 0 {
			m.do(words[0], words[1:])
		} else if err != nil {
			fmt.Println()
			break
		}
	}
	return 0
}

// maxLine is the maximum length of a command in bytes.
const maxLine = 1 << 20

// readLine reads a line and no byte more, because the tools read the rest.
func readLine(r io.Reader) (string, error) {
	var line []byte
	b := make([]byte, 1)
	for len(line) < maxLine {
		if _, err := io.ReadFull(r, b); err != nil {
			return string(line), err
		}
		if b[0] == '\n' {
			break
		}
		line = append(line, b[0])
	}
	return string(line), nil
}
