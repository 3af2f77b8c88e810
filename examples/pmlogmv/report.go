package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/logmove"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
)

// checkNames refuses names with characters that a shell interprets.
func (m *mover) checkNames(from, to string) error {
	if m.force {
		return nil
	}
	if m.Name == "pmlogmv" {
		return m.checkName("newname", to, "$?*[(|;&<> ")
	}
	const unsafe = "$?*[(|;&<>`{}\\! \n\t"
	if err := m.checkName("srcname", from, unsafe); err != nil {
		return err
	}
	return m.checkName("dstname", to, unsafe)
}

func (m *mover) checkName(what, name, unsafe string) error {
	if i := strings.IndexAny(name, unsafe); i >= 0 {
		return m.Errorf("%s (%s) unsafe [shell metacharacter '%c']", what, terminal.EscapeName(name), name[i])
	}
	return nil
}

// findMissing finds the missing files of an archive. Each is reported before the file that follows
// it.
func (m *mover) findMissing(files *archive.Files) {
	if m.verbose < 2 {
		return
	}
	m.missing = map[string][]string{}
	last := files.Volumes[0].Number
	for _, v := range files.Volumes {
		for n := last + 1; n < v.Number; n++ {
			m.missing[v.Path] = append(m.missing[v.Path], fmt.Sprint(files.Base, ".", n))
		}
		last = v.Number
	}
	if files.Index == "" {
		m.missing[files.Meta] = []string{files.Base + ".index"}
	}
}

// report prints what was done, or would be done.
func (m *mover) report(s logmove.Step) {
	for _, path := range m.missing[s.From] {
		fmt.Fprintf(os.Stderr, "%s: Warning: source file %s not found\n", m.Name, terminal.EscapeName(path))
	}
	delete(m.missing, s.From)
	from, to := terminal.EscapeName(s.From), terminal.EscapeName(s.To)
	_, signaled := errors.AsType[caught](s.Err)
	switch {
	case signaled: // that is said at the end
	case s.Err != nil && s.To != "":
		m.Report(m.made(s.Err))
	case m.dryRun && s.Action == logmove.Remove:
		fmt.Printf("+ rm %s\n", from)
	case m.dryRun && s.Action == logmove.Link:
		fmt.Printf("+ ln %s %s\n", from, to)
	case m.dryRun:
		fmt.Printf("+ cp %s %s\n", from, to)
	case m.verbose == 0:
	case s.Action == logmove.Remove:
		fmt.Printf("remove %s\n", from)
	case s.Action == logmove.Undo:
		fmt.Printf("cleanup: remove %s\n", from)
	default:
		m.reportSums(s.Sums)
		fmt.Printf("%s %s -> %s\n", s.Action, from, to)
	}
	if s.Err != nil && s.To == "" {
		fmt.Fprintf(os.Stderr, "%s: unlink %s failed: %v\n", m.Name, from, pcptool.Cause(s.Err))
	}
}

// made returns the error of a file that could not be linked or copied.
func (m *mover) made(err error) error {
	link, ok := errors.AsType[*os.LinkError](err)
	switch {
	case !ok:
		return err
	case errors.Is(link.Err, fs.ErrExist):
		return m.Errorf("%s: already exists", terminal.EscapeName(link.New))
	}
	return m.Errorf("%s %s -> %s failed: %w", link.Op, terminal.EscapeName(link.Old), terminal.EscapeName(link.New), pcptool.Cause(link.Err))
}

// reportSums prints the checksums of a file and its copy. PCP's tool runs a command to compute
// them.
func (m *mover) reportSums(sums [2]string) {
	if sums[0] == "" {
		return
	}
	if !m.summed {
		fmt.Println("checksum cmd: md5sum")
		m.summed = true
	}
	fmt.Printf("source checksum: %s\ndestination checksum: %s\n", sums[0], sums[1])
}

// failed returns the error that ends the program after err was reported. Like PCP's tool, it does
// not count source files that could not be removed as a failure.
func (m *mover) failed(err error) error {
	_, made := errors.AsType[*os.LinkError](err)
	end, signaled := errors.AsType[caught](err)
	_, kept := errors.AsType[*fs.PathError](err)
	switch {
	case signaled:
		return &pcptool.ExitError{Status: 1, Message: end.Error() + "\n", Err: err}
	case made:
		return &pcptool.ExitError{Status: 1, Err: err}
	case kept:
		return nil
	}
	return err
}
