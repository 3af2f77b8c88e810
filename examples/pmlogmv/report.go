package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// checkNames refuses names that a shell would not take as they are.
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
		return m.Errorf("%s (%s) unsafe [shell metacharacter '%c']", what, tool.EscapeName(name), name[i])
	}
	return nil
}

// warnMissing prints which files there are not.
func (m *mover) warnMissing(files *archive.Files) {
	if m.verbose == 0 {
		return
	}
	missing := func(suffix string) {
		fmt.Fprintf(os.Stderr, "%s: Warning: source file %s%s not found\n", m.Name, tool.EscapeName(files.Base), suffix)
	}
	last := files.Volumes[0].Number
	for _, v := range files.Volumes {
		for n := last + 1; n < v.Number && m.verbose > 1; n++ {
			missing(fmt.Sprint(".", n))
		}
		last = v.Number
	}
	if files.Index == "" && m.verbose > 1 {
		missing(".index")
	}
}

// report prints what was done, or would be done.
func (m *mover) report(s archive.MoveStep) {
	from, to := tool.EscapeName(s.From), tool.EscapeName(s.To)
	if s.Err != nil {
		fmt.Fprintf(os.Stderr, "%s: unlink %s failed: %v\n", m.Name, from, tool.Cause(s.Err))
	}
	switch {
	case m.dryRun && s.Action == archive.ActionRemove:
		fmt.Printf("+ rm %s\n", from)
	case m.dryRun && s.Action == archive.ActionLink:
		fmt.Printf("+ ln %s %s\n", from, to)
	case m.dryRun:
		fmt.Printf("+ cp %s %s\n", from, to)
	case m.verbose == 0:
	case s.Action == archive.ActionRemove:
		fmt.Printf("remove %s\n", from)
	case s.Action == archive.ActionUndo:
		fmt.Printf("cleanup: remove %s\n", from)
	default:
		m.reportSums(s.Sums)
		fmt.Printf("%s %s -> %s\n", s.Action, from, to)
	}
}

// reportSums prints the checksums of a file and its copy. PCP's tool has them from a command.
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

// failed is how the program ends after an error. Files that could not be removed have been reported, and are none to PCP's tool.
func (m *mover) failed(err error) error {
	link, ok := errors.AsType[*os.LinkError](err)
	end, signaled := errors.AsType[caught](err)
	switch {
	case signaled:
		return &tool.ExitError{Status: 1, Message: end.Error() + "\n", Err: err}
	case !ok:
		if _, kept := errors.AsType[*fs.PathError](err); kept {
			return nil
		}
		return err
	case errors.Is(link.Err, fs.ErrExist):
		return m.Errorf("%s: already exists", tool.EscapeName(link.New))
	}
	return m.Errorf("%s %s -> %s failed: %w", link.Op, tool.EscapeName(link.Old), tool.EscapeName(link.New), tool.Cause(link.Err))
}
