// Csv2pcp converts a table of comma-separated values to a PCP archive.
//
// The first line has the names of the columns. The first column is the time. The others are
// metrics: a name such as disk.dev.read, with an instance in brackets if the metric has instances
// (disk.dev.read[sda]), and with ":counter", ":discrete" or ":string" if the values are not numbers
// at an instant (disk.dev.read[sda]:counter). A time is a number of seconds since 1970, or has the
// form 2026-11-23 10:30:00.5, or that of RFC 3339 with a zone. An empty field is no value.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pmapi/tool"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stderr, terminal.Is(os.Stderr)))
}

func run(args []string, stdin io.Reader, errs io.Writer, progress bool) (status int) {
	var o archive.WriterOptions
	set := getopt.Set{
		Program:  "csv2pcp",
		Synopsis: "[options] archive [file]",
		Options: []getopt.Option{
			{Short: 'h', Long: "host", Arg: "HOST", Help: "name of the host that the values are of",
				Set: func(v string) error { o.Label.Host = v; return nil }},
			{Short: 'V', Long: "version", Arg: "N", Help: "version of the archive, 2 or 3 [default 3]", Set: func(v string) (err error) {
				o.Label.Version, err = strconv.Atoi(v)
				return err
			}},
			{Short: 'Z', Long: "timezone", Arg: "TZ", Help: "time zone of that host, and of times that have none [default UTC]",
				Set: func(v string) error { o.Label.TimeZone = v; return nil }},
			{Short: '?', Long: "help", Help: "show this usage message and exit", Set: getopt.Usage},
		},
	}
	o.Label.TimeZone = "UTC"
	args, bad := set.Parse(args)
	if set.Report(errs, bad) {
		return getopt.Status(bad)
	}
	if len(args) < 1 || len(args) > 2 {
		io.WriteString(errs, set.Usage())
		return 1
	}
	if err := convert(args, o, stdin, errs, progress); err != nil {
		fmt.Fprintf(errs, "csv2pcp: %v\n", err)
		return 1
	}
	return 0
}

// convert makes the archive args[0] from a file or from standard input.
func convert(args []string, o archive.WriterOptions, in io.Reader, errs io.Writer, progress bool) error {
	size, name := int64(0), "standard input"
	if len(args) == 2 {
		name = args[1]
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil {
			size = info.Size()
		}
		in = f
	}
	t := table{zone: tool.LoadZone(o.Label.TimeZone)}
	if progress {
		next := time.Now().Add(time.Second)
		t.progress = func(rows int, read int64) {
			if now := time.Now(); now.After(next) {
				next = now.Add(time.Second)
				fmt.Fprintf(errs, "\r%s", progressText(rows, read, size))
			}
		}
		defer io.WriteString(errs, "\r\x1b[K")
	}
	err := t.convert(bufio.NewReaderSize(in, 1<<20), args[0], o)
	if wrong, ok := errors.AsType[*archive.Error](err); ok && errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: choose another name for the archive, or remove its files", wrong)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// progressText returns the progress of reading a table.
func progressText(rows int, read, size int64) string {
	if size <= 0 {
		return fmt.Sprintf("%d rows", rows)
	}
	return fmt.Sprintf("%d rows, %d%%", rows, 100*read/size)
}
