// Package pmlogsize is the command of that name.
package pmlogsize

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pmapi/tool"
	"github.com/pcp-go/pcp/pmns"
)

// A sizer reports on archives and on single files.
type sizer struct {
	detail, replication bool
	verbose             int
	threshold           int // percent; 0 prints all
	out                 *bufio.Writer

	names *pmns.Tree // of the archive; nil if it cannot be opened
}

// Main is the command pmlogsize; it does not return.
func Main() {
	s := &sizer{out: bufio.NewWriter(terminal.NewEscapeWriter(os.Stdout))}
	c := newCommand(s)
	err := s.run(context.Background(), c)
	err = errors.Join(err, s.out.Flush())
	os.Exit(c.Report(err))
}

func newCommand(s *sizer) *pcptool.Command {
	c := &pcptool.Command{Name: "pmlogsize", Synopsis: "[options] archive", OperandArchive: true}
	c.AddOptions("Options",
		tool.Option{Short: 'd', Long: "detail", Help: "detailed output (per metric and per indom)", Set: tool.Flag(&s.detail)},
		tool.Option{Short: 'r', Long: "replication", Help: "report replicated metric values and instances",
			Set: func(string) error { s.detail, s.replication = true, true; return nil }},
		tool.Option{Short: 'v', Long: "verbose", Help: "verbose output", Set: func(string) error { s.verbose++; return nil }},
		tool.Option{Short: 'x', Long: "threshold", Arg: "thres", Help: "cull detailed report after thres % of space reported", Set: s.setThreshold})
	c.Options = append(c.Options, c.Standard("debug", "help")...)
	return c
}

// setThreshold sets a percentage. run reports an invalid value without the usage message.
func (s *sizer) setThreshold(value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > 100 {
		s.out.Flush()
		fmt.Fprintf(os.Stderr, "Bad arg for -x (%s): should be between 1 and 100\n", terminal.Escape(value))
		os.Exit(1)
	}
	s.threshold = n
	return nil
}

// culls reports whether the details end after printed bytes.
func (s *sizer) culls(printed, bytes int64) bool {
	return s.threshold > 0 && percent(printed, bytes) > float64(s.threshold)
}

// run reports on all arguments.
func (s *sizer) run(ctx context.Context, c *pcptool.Command) error {
	args, err := c.Parse(os.Args[1:])
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return c.UsageErrorf("Error: no archive specified\n\n")
	}
	for _, arg := range args {
		paths, err := files(arg)
		if err != nil {
			return noFiles(arg, err)
		}
		s.findNames(ctx, arg)
		for _, path := range paths {
			if err := s.report(ctx, path); err != nil {
				return err
			}
		}
	}
	return nil
}

// files returns the files of an argument: the argument itself, or the files of the archive with
// this name. It fails for a directory and for a list of archives.
func files(arg string) ([]string, error) {
	switch info, err := os.Stat(arg); {
	case err == nil && info.Mode().IsRegular():
		return []string{arg}, nil
	case err == nil && info.IsDir(), strings.Contains(arg, ","):
		return nil, fs.ErrNotExist
	}
	found, err := archive.Options{}.Find(arg)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, f := range found {
		for _, v := range f.Volumes {
			paths = append(paths, v.Path)
		}
		for _, path := range []string{f.Meta, f.Index} {
			if path != "" {
				paths = append(paths, path)
			}
		}
	}
	if paths == nil {
		return nil, fs.ErrNotExist
	}
	slices.Sort(paths)
	return paths, nil
}

// noFiles returns the error of an argument without files. If the directory cannot be read, it is
// the error of the directory.
func noFiles(arg string, err error) error {
	message := fmt.Sprintf("Error: no PCP archive files match \"%s\"\n", arg)
	dir := strings.TrimRight(arg, "/")
	dir = strings.TrimRight(dir[:strings.LastIndexByte(dir, '/')+1], "/")
	if _, dirErr := os.ReadDir(dir); dir != "" && dirErr != nil {
		message, err = fmt.Sprintf("Error: scandir(\"%s\", ...) failed: %v\n", dir, pcptool.Cause(dirErr)), dirErr
	}
	return &pcptool.ExitError{Status: 1, Message: message, Err: err}
}

// findNames finds the names of metrics.
func (s *sizer) findNames(ctx context.Context, arg string) {
	s.names = nil
	if set, err := archive.Open(ctx, arg); err == nil {
		s.names = set.Metadata().Names()
		set.Close()
	}
}

// byBytes sorts parts of a file by their bytes. Parts with the same number stay in the order of the
// file.
func byBytes[T any](parts []T, bytes func(T) int64) []T {
	return slices.SortedStableFunc(slices.Values(parts), func(a, b T) int { return cmp.Compare(bytes(b), bytes(a)) })
}
