// Pmlogrewrite changes the contents of an archive: names, types, units and identifiers of metrics,
// instances, help texts, labels, the host and the times. Rules define the changes: see
// pmlogrewrite(1) and package archive/logrewrite. The debug option appl0 prints the records that
// are read and written. Other debug options have no effect.
//
//	pmlogrewrite -c rules 20261123 20261123.new   # another archive, changed
//	pmlogrewrite -c rules -i 20261123             # the archive itself
//	pmlogrewrite -c rules -C 20261123 none        # what the rules would change
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logrewrite"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// A rewriter is the options of the command line.
type rewriter struct {
	logrewrite.Options
	configs  []string // files of rules
	check    bool
	inPlace  bool
	quick    bool
	verbose  int
	warnings bool

	in, out string
}

func main() {
	r := new(rewriter)
	c := newCommand(r)
	err := r.run(context.Background(), c)
	if e, ok := errors.AsType[*pcptool.ExitError](err); ok && errors.Is(e, tool.ErrUsage) {
		e.Message += "\noutput-archive is required unless -C or -i is specified\n"
	}
	os.Exit(c.Report(err))
}

func newCommand(r *rewriter) *pcptool.Command {
	c := &pcptool.Command{Name: "pmlogrewrite", Synopsis: "[options] input-archive [output-archive]", NoEnvironment: true}
	c.AddOptions("Options",
		tool.Option{Short: 'c', Long: "config", Arg: "PATH", Help: "file or directory to load rules from", Set: r.addConfig},
		tool.Option{Short: 'C', Long: "check", Help: "parse config file(s) and quit (verbose warnings also)",
			Set: func(string) error { r.check, r.warnings, r.verbose = true, true, r.verbose+1; return nil }},
		tool.Option{Short: 'd', Long: "desperate", Help: "desperate, save output archive even after error", Set: tool.Flag(&r.Desperate)},
		tool.Option{Short: 'i', Help: "rewrite in place, input-archive will be over-written", Set: tool.Flag(&r.inPlace)},
		tool.Option{Short: 'q', Long: "quick", Help: "quick mode, no output if no change", Set: tool.Flag(&r.quick)},
		tool.Option{Short: 's', Long: "scale", Help: "do scale conversion", Set: tool.Flag(&r.Rescale)},
		tool.Option{Short: 'v', Long: "verbose", Help: "increased diagnostic verbosity", Set: func(string) error { r.verbose++; return nil }},
		tool.Option{Short: 'V', Long: "version", Arg: "N", Help: "output archive in version N [2/3] format", Set: r.setVersion},
		tool.Option{Short: 'w', Long: "warnings", Help: "emit warnings [default is silence]", Set: tool.Flag(&r.warnings)})
	c.Options = append(c.Options, c.Standard("debug", "help")...)
	return c
}

// addConfig adds a file of rules, or all files of a directory.
func (r *rewriter) addConfig(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("stat(%s) failed: %w", path, pcptool.Cause(err))
	case info.Mode().IsRegular():
		r.configs = append(r.configs, path)
		return nil
	case !info.IsDir():
		//lint:ignore ST1005 the text is PCP's
		return fmt.Errorf("Error: -c config %s is not a file or directory", path)
	}
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opendir(%s) failed: %w", path, pcptool.Cause(err))
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1) // in the order of the directory, as PCP's tool does
	if err != nil {
		return fmt.Errorf("opendir(%s) failed: %w", path, pcptool.Cause(err))
	}
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(path, e.Name())); err == nil && info.Mode().IsRegular() && e.Name()[0] != '.' {
			r.configs = append(r.configs, filepath.Join(path, e.Name()))
		}
	}
	return nil
}

// setVersion parses the number at the start of the value, as PCP's tool does.
func (r *rewriter) setVersion(value string) error {
	r.Version = 0
	_, _ = fmt.Sscanf(value, "%d", &r.Version)
	if r.Version != 2 && r.Version != 3 {
		//lint:ignore ST1005 the text is PCP's
		return fmt.Errorf("Error: unsupported version (%d) requested", r.Version)
	}
	return nil
}

// run rewrites an archive.
func (r *rewriter) run(ctx context.Context, c *pcptool.Command) error {
	args, err := c.Parse(os.Args[1:])
	switch {
	case err != nil:
		return err
	case r.inPlace && len(args) != 1, len(args) == 0 || len(args) > 2, !r.check && !r.inPlace && len(args) != 2:
		return c.UsageErrorf("")
	}
	r.in, r.out = args[0], args[len(args)-1]
	options := archive.Options{Damaged: c.DamagedArchive}
	set, err := options.Open(ctx, r.in)
	if errors.Is(err, pdu.ErrNoData) {
		fmt.Fprintf(os.Stderr, "%s: Warning: empty archive \"%s\" will be skipped\n", c.Name, terminal.Escape(r.in))
		return nil
	}
	if errors.Is(err, pdu.ErrFeature) {
		fmt.Fprintf(os.Stderr, "%s: Warning: archive \"%s\": unsupported feature bits, other errors may follow ...\n", c.Name, terminal.Escape(r.in))
		options.AnyFeature = true
		set, err = options.Open(ctx, r.in)
	}
	if err != nil {
		return c.Errorf("Error: cannot open archive \"%s\": %w", terminal.Escape(r.in), pcptool.Cause(err))
	}
	defer set.Close()
	if r.Version == 2 && set.Label().Version > 2 {
		return c.Errorf("Error: cannot create a v2 archive from v%d (%s)", set.Label().Version, terminal.Escape(r.in))
	}
	plan, err := r.plan(c, set)
	if err != nil {
		return err
	}
	if r.check || r.quick && !plan.Changes() {
		return nil
	}
	return r.write(ctx, c, set, plan)
}

// plan reads the rules and prints their changes.
func (r *rewriter) plan(c *pcptool.Command, set *archive.Set) (*logrewrite.Plan, error) {
	r.Warn = func(w logrewrite.Warning) {
		if w.Always || r.warnings {
			fmt.Fprintln(os.Stderr, w)
		}
	}
	plan, err := r.Plan(set)
	if err != nil {
		return nil, err
	}
	for _, name := range r.configs {
		if err := r.add(c, plan, name); err != nil {
			return nil, err
		}
	}
	if err := plan.Check(); err != nil {
		return nil, plain(err)
	}
	if r.verbose > 0 {
		err = plan.Summary(os.Stdout)
	}
	return plan, err
}

// add adds the rules of a file.
func (r *rewriter) add(c *pcptool.Command, plan *logrewrite.Plan, name string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return c.Errorf("Cannot open config file \"%s\": %w", name, pcptool.Cause(err))
	}
	if r.verbose > 1 {
		fmt.Fprintf(os.Stderr, "Start configfile: %s\n", name)
	}
	rules, wrong := logrewrite.Parse(name, bytes.NewReader(b))
	if err := plan.Add(rules); err != nil {
		return plain(err)
	}
	return plain(wrong)
}

// plain returns an error that is printed without a prefix.
func plain(err error) error {
	if err == nil {
		return nil
	}
	return &pcptool.ExitError{Status: 1, Message: strings.TrimRight(err.Error(), "\n") + "\n", Err: err}
}
