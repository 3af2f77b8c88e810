// Pmlogmv gives all files of an archive another base name. Under the name pmlogcp it copies them,
// and under pmlogls it lists them.
//
//	pmlogmv 20261123 /archives/web1-20261123     # also to another file system
//	pmlogmv 20261123 /archives                   # into a directory, under its name
//	pmlogmv -N 20261123 web1                     # only prints what it would do
//	ln -s pmlogmv pmlogcp && ./pmlogcp -Vc 20261123 /backup
//
// It accepts the debug options of PCP's tool but prints no debug output.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/logmove"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// A mover moves, copies or lists one archive.
type mover struct {
	*pcptool.Command
	checksum, force, dryRun bool
	verbose                 int
	summed                  bool                // that there are checksums has been printed
	missing                 map[string][]string // paths of files that there are not, by the path of the next one
}

func main() {
	m := newMover(strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"))
	ctx, stop := interrupted(context.Background())
	err := m.run(ctx)
	stop()
	os.Exit(m.Report(err))
}

func newMover(name string) *mover {
	m := &mover{Command: &pcptool.Command{Name: name, Synopsis: "[options] srcname dstname", OperandArchive: true}}
	list := name == "pmlogls"
	if list {
		m.Synopsis = "[options] srcname"
	}
	if name == "pmlogmv" {
		m.Synopsis = "[options] oldname newname"
	}
	m.AddOptions("Options")
	if !list {
		m.Options = append(m.Options,
			tool.Option{Short: 'c', Long: "checksum", Help: "checksum all source and destination files when copying", Set: tool.Flag(&m.checksum)},
			tool.Option{Short: 'f', Long: "force", Help: "force changes, even if they look unsafe", Set: tool.Flag(&m.force)},
			tool.Option{Short: 'N', Long: "showme", Help: "perform a dry run, showing what would be done", Set: tool.Flag(&m.dryRun)})
	}
	m.Options = append(m.Options,
		tool.Option{Short: 'V', Long: "verbose", Help: "increase diagnostic verbosity", Set: func(string) error { m.verbose++; return nil }})
	m.Options = append(m.Options, m.Standard("debug", "help")...)
	return m
}

// interrupted returns a context that a signal cancels. The signal is its cause.
func interrupted(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP, os.Interrupt, syscall.SIGTERM)
	go func() {
		if s, ok := <-signals; ok {
			cancel(caught{s})
		}
	}()
	return ctx, func() { signal.Stop(signals); close(signals) }
}

// caught is the error of a run that a signal has ended.
type caught struct{ os.Signal }

func (c caught) Error() string {
	n, _ := c.Signal.(syscall.Signal)
	return fmt.Sprintf("Caught signal %d", int(n))
}

func (m *mover) run(ctx context.Context) error {
	switch m.Name {
	case "pmlogmv", "pmlogcp", "pmlogls":
	default:
		return m.Errorf("Arrgh, not pmlogmv nor pmlogcp nor pmlogls so I don't know who I am!")
	}
	args, err := m.Parse(os.Args[1:])
	if err != nil {
		return err
	}
	list := m.Name == "pmlogls"
	if list && len(args) != 1 || !list && len(args) != 2 {
		return m.UsageErrorf("")
	}
	files, err := m.open(ctx, args[0])
	switch {
	case err != nil && list && m.verbose == 0:
		return &pcptool.ExitError{Status: 1, Err: err}
	case err != nil:
		return m.Errorf("Cannot open archive \"%s\": %w", terminal.EscapeName(args[0]), pcptool.Cause(err))
	case list:
		for _, path := range files.Paths() {
			fmt.Println(terminal.EscapeName(path))
		}
		return nil
	}
	to := args[1]
	if err := m.checkNames(args[0], to); err != nil {
		return err
	}
	m.findMissing(&files)
	o := logmove.Options{Verify: m.checksum, DryRun: m.dryRun, Step: m.report}
	if info, err := os.Stat(to); err == nil && info.IsDir() { // the names stay, as with mv(1) and cp(1)
		to = filepath.Join(to, filepath.Base(files.Base))
	}
	if m.Name == "pmlogmv" {
		return m.failed(o.Move(ctx, files, to))
	}
	return m.failed(o.Copy(ctx, files, to))
}

// open finds the files of an archive that can be opened, or of the first of several. Their paths
// begin as in messages of PCP's tools.
func (m *mover) open(ctx context.Context, name string) (files archive.Files, err error) {
	if trimmed := strings.TrimRight(name, "/"); trimmed != "" {
		name = trimmed
	}
	set, err := archive.Open(ctx, name)
	if err != nil {
		return files, err
	}
	defer set.Close()
	first, _, _ := strings.Cut(name, ",")
	found, err := archive.Options{}.Find(first)
	if err != nil {
		return files, err
	}
	files = found[0]
	dir := directory(first)
	if m.Name != "pmlogmv" {
		dir = strings.TrimPrefix(dir, "./")
	}
	in := func(path *string) {
		if *path != "" {
			*path = dir + filepath.Base(*path)
		}
	}
	in(&files.Base)
	in(&files.Meta)
	in(&files.Index)
	for i := range files.Volumes {
		in(&files.Volumes[i].Path)
	}
	return files, nil
}

// directory returns the part of an archive's name before the base name, with a slash.
func directory(name string) string {
	dir := name
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		dir = name[:strings.LastIndexByte(name, '/')+1]
	}
	if dir == "" {
		return "./"
	}
	return strings.TrimRight(dir, "/") + "/"
}
