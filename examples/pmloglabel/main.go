// Pmloglabel checks, prints and changes the labels of an archive's files.
//
//	pmloglabel -L 20261123               # print the label
//	pmloglabel -v 20261123               # check that all files have the same one
//	pmloglabel -h web1 -Z UTC 20261123   # change it in all files
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/logtext"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// A labeler works on the labels of one archive.
type labeler struct {
	show, full bool
	verbose    bool
	rewrite    bool
	version    int
	pid        int32 // 0 keeps that of the label
	host, zone string

	files  archive.Files
	good   *archive.Label // the first one that has no fault; nil if there is none
	goodIn string         // what file it is of
	status int
}

// Exit statuses in addition to 0 and 1.
const (
	statusBad    = 2 // a label is wrong, or differs from another one
	statusFailed = 3 // a label could not be written
)

func main() {
	l := new(labeler)
	c := newCommand(l)
	err := l.run(context.Background(), c)
	if err != nil {
		l.status = c.Report(err)
	}
	os.Exit(l.status)
}

func newCommand(l *labeler) *pcptool.Command {
	c := &pcptool.Command{Name: "pmloglabel", Synopsis: "[options] archive", NoEnvironment: true}
	text := func(variable *string) func(string) error {
		return func(value string) error {
			*variable, l.rewrite = value, true
			return nil
		}
	}
	c.AddOptions("Options",
		tool.Option{Short: 'h', Long: "host", Arg: "HOSTNAME", Help: "set the hostname for all files in archive", Set: text(&l.host)},
		tool.Option{Short: 'l', Long: "label", Help: "dump the archive label", Set: tool.Flag(&l.show)},
		tool.Option{Short: 'L', Help: "more verbose form of label dump", Set: func(string) error { l.show, l.full = true, true; return nil }},
		tool.Option{Short: 'p', Long: "pid", Arg: "PID", Help: "set the logger process ID field for all files in archive", Set: l.setPID},
		tool.Option{Short: 's', Help: "write the label sentinel values for all files in archive", Set: tool.Flag(&l.rewrite)},
		tool.Option{Short: 'v', Long: "verbose", Help: "run in verbose mode, reporting on each stage of checking", Set: tool.Flag(&l.verbose)},
		tool.Option{Short: 'V', Long: "version", Arg: "NUM", Help: "write magic and version numbers for all files in archive", Set: l.setVersion},
		tool.Option{Short: 'Z', Long: "timezone", Arg: "TZ", Help: "set the timezone for all files in archive", Set: text(&l.zone)})
	c.Options = append(c.Options, c.Standard("debug", "help")...)
	return c
}

// setPID parses the number at the start of the value, as PCP's tool does.
func (l *labeler) setPID(value string) error {
	digits := strings.TrimLeft(strings.TrimLeft(value, " \t"), "+-")
	number := value[:len(value)-len(strings.TrimLeft(digits, "0123456789"))]
	pid, _ := strconv.ParseInt(strings.TrimSpace(number), 10, 32)
	l.pid, l.rewrite = int32(pid), true
	return nil
}

func (l *labeler) setVersion(value string) error {
	if value != "2" && value != "3" {
		return fmt.Errorf("unknown version number (%s)", value)
	}
	l.version, l.rewrite = int(value[0]-'0'), true
	return nil
}

// run checks the labels and prints or changes them.
func (l *labeler) run(ctx context.Context, c *pcptool.Command) error {
	args, err := c.Parse(os.Args[1:])
	exit, wrong := errors.AsType[*pcptool.ExitError](err)
	switch {
	case len(args) != 1 && wrong:
		return c.UsageErrorf("%s%s: insufficient arguments\n", strings.TrimSuffix(exit.Message, c.Usage()), c.Name)
	case len(args) != 1:
		return c.UsageErrorf("%s: insufficient arguments\n", c.Name)
	case err != nil:
		return err
	}
	name := args[0]
	if l.verbose {
		fmt.Printf("Scanning for components of archive \"%s\"\n", terminal.Escape(name))
	}
	if l.files, err = find(name); err != nil {
		return c.Errorf("Cannot open archive \"%s\": %w", terminal.Escape(name), pcptool.Cause(err))
	}
	l.checkAll(ctx)
	if l.rewrite {
		if l.good != nil && l.version != 0 && l.version != l.good.Version {
			return c.Errorf("cannot change version %d of the archive to %d: its records have another layout", l.good.Version, l.version)
		}
		l.writeAll()
	}
	if l.show {
		l.print(ctx, name)
	}
	return nil
}

// find returns the files of the one archive that name selects. It fails for a directory and for a
// list of archives.
func find(name string) (archive.Files, error) {
	if info, err := os.Stat(name); name == "" || strings.Contains(name, ",") || err == nil && info.IsDir() {
		return archive.Files{}, pdu.FromError(os.ErrNotExist)
	}
	found, err := archive.Options{}.Find(name)
	if err != nil {
		return archive.Files{}, err
	}
	if len(found[0].Volumes) == 0 || found[0].Meta == "" {
		return archive.Files{}, pdu.ErrLogFile
	}
	return found[0], nil
}

// print prints the label and the end of the archive.
func (l *labeler) print(ctx context.Context, name string) {
	clock := logtext.Clock{Location: tool.LocalZone(), Digits: logtext.Millis}
	label := l.bestLabel()
	b := logtext.AppendLabelHead(nil, &label, &clock, "  ")
	b = append(b, "\n  ending     "...)
	if set, err := archive.Open(ctx, name); err != nil {
		b = fmt.Appendf(b, "UNKNOWN (pmNewContext: %v)", pcptool.Cause(err))
	} else {
		defer set.Close()
		if end, err := set.End(); err != nil {
			b = fmt.Appendf(b, "UNKNOWN (pmGetArchiveEnd: %v)", pcptool.Cause(err))
		} else {
			b = clock.AppendDate(b, end)
		}
	}
	b = append(b, '\n')
	if l.full {
		b = fmt.Appendf(b, "Archive timezone: %s\nPID for pmlogger: %d\n", label.TimeZone, label.PID)
	}
	if _, err := terminal.NewEscapeWriter(os.Stdout).Write(b); err != nil {
		l.status = max(l.status, 1)
	}
}
