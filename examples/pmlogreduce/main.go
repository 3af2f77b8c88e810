// Pmlogreduce makes an archive from another one with fewer records: the values at regular
// intervals.
//
//	pmlogreduce 20261123 reduced                # every ten minutes
//	pmlogreduce -t 1hour -A 1hour 20261123 reduced
//
// It accepts the debug options of PCP's tool but prints no debug output.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logreduce"
	"github.com/pcp-go/pcp/examples/internal/logtext"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// A reducer is the command line.
type reducer struct {
	*pcptool.Command
	samples, perVolume int
}

func main() {
	r := newReducer()
	os.Exit(r.Report(r.run(context.Background())))
}

func newReducer() *reducer {
	r := &reducer{Command: &pcptool.Command{Name: "pmlogreduce", Synopsis: "[options] input-archive output-archive", OperandSource: true, OperandArchive: true, ZoneNote: true}}
	count := func(n *int, option string) func(string) error {
		return func(value string) error {
			i, ok := parseCount(value)
			if !ok {
				return errors.New(option + " requires numeric argument")
			}
			*n = i
			return nil
		}
	}
	r.AddOptions("Options")
	r.Options = append(r.Options, r.Standard("align", "start")...)
	r.Options = append(r.Options, tool.Option{Short: 's', Long: "samples", Arg: "N", Help: "terminate after this many samples", Set: count(&r.samples, "-s")})
	r.Options = append(r.Options, r.Standard("finish")...)
	r.Options = append(r.Options,
		tool.Option{Short: 't', Long: "interval", Arg: "DELTA", Help: "sample output interval [default 10min]", Set: r.setInterval},
		tool.Option{Short: 'v', Arg: "NUM", Help: "switch log volumes after this many samples", Set: count(&r.perVolume, "-v")})
	r.Options = append(r.Options, r.Standard("timezone", "hostzone", "debug", "help")...)
	r.samples = -1
	return r
}

func (r *reducer) setInterval(value string) error {
	d, err := pmapi.ParseInterval(value)
	if err == nil && d < time.Microsecond {
		return errors.New("-t requires an interval of at least 1usec") // PCP's tool would not end
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, pcptool.SyntaxError(err)) // without the tool's name
		return tool.ErrUsage
	}
	r.Interval = d
	return nil
}

// parseCount parses a number as strtol(3) does. An empty text is 0.
func parseCount(s string) (n int, ok bool) {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	if s == "" {
		return 0, true
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0
}

func (r *reducer) run(ctx context.Context) error {
	args, err := r.Parse(os.Args[1:])
	switch {
	case err != nil:
		if exit, ok := errors.AsType[*pcptool.ExitError](err); ok { // PCP's tool has words of its own
			exit.Message = strings.Replace(exit.Message, "at most one of -Z and -z", "at most one of -Z and/or -z", 1)
		}
		return err
	case len(args) < 2:
		return r.UsageErrorf("%s: Error: insufficient arguments\n", r.Name)
	}
	input, output := args[0], args[len(args)-1]
	opts, err := pmapi.ArchiveOptionsFromEnv()
	if err != nil {
		fmt.Fprintln(os.Stderr, pcptool.ArchiveOptionsError(err))
	}
	opts.Files.Damaged = r.DamagedArchive
	pc, err := opts.Open(ctx, input)
	if err != nil {
		return r.Errorf("Error: cannot open archive \"%s\" (ctx_a): %w", terminal.EscapeName(input), pcptool.Cause(err))
	}
	defer pc.Close()
	label, err := pc.ArchiveLabel()
	if err != nil {
		return r.Errorf("Error: cannot get archive label record (%s): %w", terminal.EscapeName(input), pcptool.Cause(err))
	}
	end, err := pc.ArchiveEnd(ctx)
	if err != nil {
		return r.Errorf("Error: cannot get end of archive (%s): %w", terminal.EscapeName(input), pcptool.Cause(err))
	}
	if err := r.SetArchiveTimes(label.Host, label.TimeZone, label.Start, end); err != nil {
		return r.wrongWindow(err)
	}
	o := logreduce.Options{
		Start: r.Begin, End: r.End, Interval: r.Interval, Samples: r.samples, VolumeRecords: r.perVolume,
		Skipped: r.skipped, NewVolume: r.newVolume,
	}
	switch r.samples {
	case 0:
		o.Samples = -1
	case -1:
		o.Samples = 0
	}
	return r.failed(output, o.Reduce(ctx, pc, output))
}

// wrongWindow returns the error of an invalid time window.
func (r *reducer) wrongWindow(err error) error {
	exit, ok := errors.AsType[*pcptool.ExitError](err)
	if !ok {
		return err
	}
	_, text, _ := strings.Cut(exit.Message, "invalid time window.\n")
	return &pcptool.ExitError{Status: 1, Message: fmt.Sprintf("%s: Invalid time window specified: %s", r.Name, text), Err: err}
}

var skippedTypes = map[pdu.Type]string{
	pdu.TypeAggregate: "AGGREGATE", pdu.TypeAggregateStatic: "AGGREGATE_STATIC", pdu.TypeEvent: "EVENT", pdu.TypeHighResEvent: "HIGHRES_EVENT",
}

func (r *reducer) skipped(name string, t pdu.Type) {
	fmt.Fprintf(os.Stderr, "%s: %s: Warning: skipping %s metric\n", r.Name, terminal.EscapeName(name), skippedTypes[t])
}

func (r *reducer) newVolume(number int, t time.Time) {
	clock := logtext.Clock{Location: r.Location, Digits: logtext.Nanos}
	fmt.Fprintf(os.Stderr, "%s: New log volume %d, at %s\n", r.Name, number, clock.Append(nil, t))
}

// failed returns the message for an error of Reduce.
func (r *reducer) failed(output string, err error) error {
	if err == nil {
		return nil
	}
	if _, reading := errors.AsType[*pmapi.OpError](err); reading {
		return r.Errorf("Error: pmFetch failed: %w", pcptool.Cause(err))
	}
	at, ok := errors.AsType[*archive.Error](err)
	if !ok || strings.HasPrefix(filepath.Base(at.File), filepath.Base(output)) && at.Offset >= 0 {
		return err
	}
	path, what := terminal.EscapeName(at.File), "File exists"
	head := fmt.Sprintf("__pmLogNewFile: \"%s\" already exists, not over-written\n", path)
	if !errors.Is(err, fs.ErrExist) {
		what = pcptool.Cause(err).Error()
		head = fmt.Sprintf("__pmLogNewFile: failed to create \"%s\": %s\n", path, what)
	}
	return &pcptool.ExitError{Status: 1, Message: fmt.Sprintf("%s%s: Error: __pmLogCreate: %s\n", head, r.Name, what), Err: err}
}
