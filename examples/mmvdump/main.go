// Mmvdump prints the contents of a file of memory-mapped values, to find faults in it.
//
//	mmvdump /var/lib/pcp/tmp/mmv/acme
//
// Without an argument it prints the file mmv/test in PCP's directory for temporary files. The exit
// status is 1 if the file has a flaw.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/build"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/mmv"
)

func main() {
	os.Exit(run(os.Args, output(os.Stdout), os.Stderr))
}

// output returns a writer to f. On a terminal it escapes control characters in the names and texts
// of a file.
func output(f *os.File) io.Writer {
	if terminal.Is(f) {
		return terminal.NewEscapeWriter(f)
	}
	return f
}

// run prints the file of the arguments and returns the exit status.
func run(args []string, out, errs io.Writer) int {
	if len(args) > 0 && build.Asked(args[1:]) {
		io.WriteString(out, build.Text("mmvdump"))
		return 0
	}
	if len(args) > 2 {
		fmt.Fprintf(errs, "Usage: %s <filename>\n", args[0])
		return 1
	}
	path, err := "", error(nil)
	if len(args) == 2 {
		path = args[1]
	} else if path, err = defaultPath(); err != nil {
		fmt.Fprintf(errs, "%s: %v\n", args[0], err)
		return 1
	}
	good, err := dump(out, path)
	if err != nil {
		fmt.Fprintf(errs, "%s: %v\n", path, pcptool.Cause(err))
	}
	if !good {
		return 1
	}
	return 0
}

// defaultPath returns the path of the file that is printed without an argument.
func defaultPath() (string, error) {
	conf, err := pcpconf.Load("")
	if err != nil {
		return "", err
	}
	return filepath.Join(conf.Get("PCP_TMP_DIR"), "mmv", "test"), nil
}

// dump prints a file. Its errors are those that C's mmvdump gets when it maps the file into memory:
// EINVAL for an empty file and ENODEV for a file that is not regular.
func dump(out io.Writer, path string) (good bool, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, syscall.ENODEV
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if info.Size() == 0 {
		return false, syscall.EINVAL
	}
	return mmv.Dump(out, path, io.NewSectionReader(f, 0, info.Size()), time.Now())
}
