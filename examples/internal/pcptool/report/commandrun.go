package report

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// Parse reads the configuration, the environment and the arguments, in this order; the latter have
// precedence. The error is a *pcptool.ExitError.
func (c *Command) Parse(args []string) error {
	path, sets, help := scanConfig(args)
	c.configPath = path
	if !help {
		if path == "" {
			path = ConfigPath()
		}
		var err error
		if c.config, err = LoadConfig(path); err == nil {
			err = c.config.Apply(&c.Options, sets...)
		}
		if err != nil {
			return c.Exit(err)
		}
	}
	samples, interval := c.Options.Samples, c.Options.Interval
	operands, err := c.Command.Parse(args)
	switch {
	case err != nil:
		return err
	case c.refused != nil:
		return c.Exit(c.refused)
	case len(operands) == 0:
		return c.UsageErrorf("%v\n", errNoMetrics)
	}
	if c.configNamed && c.configPath != path {
		if _, err := os.Stat(c.configPath); errors.Is(err, fs.ErrNotExist) {
			return c.Exit(fmt.Errorf("[Errno 2] No such file or directory: '%s'", c.configPath))
		}
		if c.config, err = LoadConfig(c.configPath); err != nil {
			return c.Exit(err)
		}
	}
	// A count of the environment matters only if the configuration does not set one.
	if c.samples || samples == 0 && c.Samples >= 0 {
		samples = max(0, c.Samples)
	}
	if c.interval || !c.Options.intervalGiven && c.Interval > 0 {
		interval = c.Interval
	}
	c.Options.Samples, c.Options.Interval = samples, interval
	if strings.HasSuffix(c.Name, "pcp2csv") {
		c.Options.Output = OutputCSV
	}
	c.specs, err = c.config.Specs(operands, c.Options.Globals)
	if err == nil && len(c.specs) == 0 {
		err = errNoMetrics
	}
	return c.Exit(err)
}

// Exit makes the error of a program that ends with an error of this package, or of a request.
func (c *Command) Exit(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*pcptool.ExitError](err); ok {
		return err
	}
	if e, ok := errors.AsType[errOption](err); ok {
		return c.UsageErrorf("%v\n", e.error)
	}
	if e, ok := errors.AsType[*noInstancesError](err); ok {
		fmt.Fprint(c.stdout(), e.request())
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok { // of the output
		if errno, ok := errors.AsType[syscall.Errno](e); ok {
			err = fmt.Errorf("[Errno %d] %w", int(errno), pdu.FromError(errno))
		}
	}
	_, isRequest := errors.AsType[*pmapi.OpError](err)
	_, isInvalid := errors.AsType[*invalidError](err)
	_, isCode := err.(pdu.Error)
	if isCode || isRequest && !isInvalid {
		return c.Errorf("%w", pcptool.Cause(err))
	}
	return &pcptool.ExitError{Status: 1, Message: err.Error() + "\n", Err: err}
}

func (c *Command) stdout() io.Writer {
	if c.Stdout == nil {
		return os.Stdout
	}
	return c.Stdout
}

// Open opens a context on the source of the command line or of the configuration, defines the
// derived metrics of both, and finds the metrics of the report. The caller closes the context,
// unless there is an error: a *pcptool.ExitError.
func (c *Command) Open(ctx context.Context) (*pmapi.Context, *Report, error) {
	failed := c.define()
	pc, err := c.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	var r *Report
	if err = failed; err == nil {
		r, err = c.report(ctx, pc)
	}
	if err != nil {
		advice := ""
		if bad, ok := errors.AsType[*invalidError](err); ok {
			advice = c.NameHint(ctx, pc, bad.name, err)
		}
		pc.Close()
		return nil, nil, pcptool.WithHint(c.Exit(err), advice)
	}
	return pc, r, nil
}

func (c *Command) open(ctx context.Context) (*pmapi.Context, error) {
	if c.local {
		for _, spec := range slices.Concat(c.Options.SpecLocal, c.specLocal) {
			if err := c.Standard("spec-local")[0].Set(spec); err != nil {
				return nil, c.Errorf("%w", err)
			}
		}
	}
	kind, name := c.Source()
	switch archives, hosts := c.Archives(), c.Hosts(); { // which have precedence over -L
	case len(archives) > 0:
		kind, name = pmapi.SourceArchive, archives[0]
	case len(hosts) > 0:
		kind, name = pmapi.SourceHost, hosts[0]
	}
	if !c.sourceGiven() && c.Options.Source != "" {
		kind, name = sourceOf(c.Options.Source)
	}
	pc, err := c.OpenSource(ctx, kind, name)
	if err == nil {
		c.Options.Source = name
		return pc, nil
	}
	e, ok := errors.AsType[*pcptool.ExitError](err)
	if !ok || e.Err == nil || errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	code := pdu.FromError(e.Err)
	message := fmt.Sprintf("%s: %v", c.Name, code)
	if errors.Is(code, syscall.ECONNREFUSED) {
		message += "; is pmcd running?"
	}
	return nil, e.WithMessage(message + "\n")
}

// sourceGiven reports whether the environment or the command line names a source.
func (c *Command) sourceGiven() bool {
	return c.local || len(c.Hosts()) > 0 || len(c.Archives()) > 0
}

// sourceOf is what a source of the configuration stands for.
func sourceOf(text string) (pmapi.SourceKind, string) {
	switch {
	case text == "@":
		return pmapi.SourceLocal, ""
	case strings.Contains(text, "/"):
		return pmapi.SourceArchive, text
	}
	return pmapi.SourceHost, text
}

// define defines the derived metrics of the options, and those of the configuration.
func (c *Command) define() error {
	for _, item := range c.Options.Derived {
		if trimBlanks(item) == "" {
			continue
		}
		if err := defineDerived(trimBlanks(item), c.Derived().Define, c.LoadDerived); err != nil {
			return err
		}
	}
	for i := range c.specs {
		if formula := c.specs[i].Formula; formula != "" {
			if err := defineError(c.Derived().Define(c.specs[i].Name, formula)); err != nil {
				return err
			}
			c.specs[i].Formula = "" // New need not define it
		}
	}
	return nil
}

// report makes the report on a source.
func (c *Command) report(ctx context.Context, pc *pmapi.Context) (*Report, error) {
	if err := c.SetTimes(ctx, pc); err != nil {
		return nil, err
	}
	t := Times{Location: c.Location, Origin: c.Origin, Aligned: c.AlignGiven}
	if c.FinishGiven {
		t.Finish = c.End
	}
	if c.Options.Output == OutputArchive {
		if err := c.checkOutFile(); err != nil {
			return nil, err
		}
	}
	return New(ctx, pc, c.Options, c.specs, t)
}

// checkOutFile checks that the archive of the output can be written.
func (c *Command) checkOutFile() error {
	if c.Options.OutFile == "" {
		return errors.New("Output archive must be defined with archive output.")
	}
	dir := filepath.Dir(c.Options.OutFile)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("Output directory %s not accessible.", dir)
	}
	return nil
}

// Output opens the output of a report: an archive, a writer on the file of -F or on Stdout, with a
// Printer that writes to it. Finish of the Printer closes an archive.
func (c *Command) Output(r *Report) (Printer, error) {
	if c.Options.Output == OutputArchive {
		p, err := NewArchive(c.stdout(), r, c.Options.OutFile)
		return p, c.Exit(err)
	}
	if c.Options.OutFile == "" {
		return NewPrinter(c.stdout(), r), nil
	}
	f, err := os.OpenFile(c.Options.OutFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		if e, ok := errors.AsType[syscall.Errno](err); ok {
			err = fmt.Errorf("[Errno %d] %v: '%s'", int(e), pdu.FromError(err), c.Options.OutFile)
		}
		return nil, c.Exit(err)
	}
	return NewPrinter(f, r), nil
}

// NewArchive makes the Printer that writes the values of a report to an archive, and what it
// records to w. The report's Options have OutputArchive: without, values are rates. The version is
// PCP_ARCHIVE_VERSION of the environment or of pcp.conf, or else 2. There are no files before the
// first value. Errors are those of logimport.New.
func NewArchive(w io.Writer, r *Report, base string) (Printer, error) {
	b := bufio.NewWriter(w)
	p, err := newArchiver(b, r, base)
	if err != nil {
		return nil, err
	}
	return &flushed{p, b, false}, nil
}

// NewPrinter makes the Printer of a report, of text in columns or of CSV as its options say. What
// it writes arrives with each sample, or of archives in larger pieces.
func NewPrinter(w io.Writer, r *Report) Printer {
	b := bufio.NewWriter(terminal.NewEscapeWriter(w))
	p := newStdout(b, &r.opts)
	if r.opts.Output == OutputCSV {
		p = newCSV(b, &r.opts)
	}
	return &flushed{p, b, r.header.Archive == ""}
}

// A flushed is a Printer that flushes its writer.
type flushed struct {
	Printer
	w    *bufio.Writer
	each bool // after each sample
}

func (f *flushed) Start(h *Header) error {
	if err := f.Printer.Start(h); err != nil {
		return err
	}
	return f.w.Flush()
}

func (f *flushed) Print(s *Sample) error {
	err := f.Printer.Print(s)
	if f.each && err == nil {
		err = f.w.Flush()
	}
	return err
}

func (f *flushed) Finish() error {
	if err := f.Printer.Finish(); err != nil {
		return err
	}
	return f.w.Flush()
}
