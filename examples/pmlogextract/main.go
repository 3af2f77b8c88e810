// Pmlogextract merges archives into one and extracts parts of them: a time window, metrics and
// instances.
//
//	pmlogextract 20261122 20261123 both                    # one archive of two
//	pmlogextract -S @10:00 -T @11:00 20261123 hour         # an hour of one
//	pmlogextract -c metrics.config -v 1000 20261123 part   # some metrics, 1000 records a volume
//
// It accepts the debug options of PCP's tool but prints no debug output.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive/logextract"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// An extract is the command line.
type extract struct {
	*pcptool.Command
	job           logextract.Options
	config        string // of -c
	start, finish *string
	daily         bool
	output        string
}

func main() {
	x := newExtract()
	var notes strings.Builder
	if !terminal.Is(os.Stdout) { // where PCP's tool, too, prints notes at its end
		x.Stdout = &notes
	}
	status := x.Report(x.run(context.Background()))
	os.Stdout.WriteString(notes.String())
	os.Exit(status)
}

func newExtract() *extract {
	x := &extract{Command: &pcptool.Command{Name: "pmlogextract", Synopsis: "[options] input-archive output-archive", NoEnvironment: true,
		OperandSource: true, OperandArchive: true, ZoneNote: true}}
	x.job.Warn, x.job.NewVolume = x.warn, x.newVolume
	text := func(p **string) func(string) error {
		return func(s string) error { *p = &s; return nil }
	}
	x.AddOptions("Options",
		tool.Option{Short: 'c', Long: "config", Arg: "FILE", Help: "file to load configuration from", Set: x.setConfig},
		tool.Option{Short: 'd', Long: "desperate", Help: "desperate, save output after fatal error", Set: tool.Flag(&x.job.Desperate)},
		tool.Option{Short: 'f', Long: "first", Help: "use timezone from first archive [default is last]", Set: tool.Flag(&x.job.FirstZone)},
		tool.Option{Short: 'm', Long: "mark", Help: "ignore prologue/epilogue records and <mark> between archives", Set: tool.Flag(&x.job.Marks)},
		tool.Option{Short: 'S', Long: "start", Arg: "TIME", Help: "start of the time window", Set: text(&x.start)},
		tool.Option{Short: 's', Long: "samples", Arg: "NUM", Help: "terminate after NUM log records have been written", Set: x.setRecords},
		tool.Option{Short: 'T', Long: "finish", Arg: "TIME", Help: "end of the time window", Set: text(&x.finish)},
		tool.Option{Short: 'V', Long: "outputversion", Arg: "VERSION", Help: "output archive version", Set: x.setVersion},
		tool.Option{Short: 'v', Arg: "SAMPLES", Help: "switch log volumes after this many samples", Set: x.setVolume},
		tool.Option{Short: 'w', Help: "ignore day/month/year", Set: tool.Flag(&x.daily)},
		tool.Option{Short: 'x', Help: "skip metrics with mismatched metadata", Set: tool.Flag(&x.job.SkipConflicts)})
	x.Options = append(x.Options, oneZone(x.Standard("timezone", "hostzone", "debug", "help"))...)
	return x
}

func (x *extract) setConfig(file string) error {
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("%s - invalid file", file)
	}
	x.config = file
	return nil
}

func (x *extract) setRecords(value string) error {
	n, ok := parseNumber(value)
	if !ok || n < 0 {
		return errors.New("-s requires numeric argument")
	}
	if x.job.Records = n; n == 0 {
		x.job.Records = -1
	}
	return nil
}

func (x *extract) setVolume(value string) error {
	n, ok := parseNumber(value)
	if !ok || n < 0 {
		return errors.New("-v requires numeric argument")
	}
	x.job.VolumeRecords = n
	return nil
}

func (x *extract) setVersion(value string) error {
	n, ok := parseNumber(value)
	x.job.Version = n
	switch {
	case !ok:
		return fmt.Errorf("-V requires numeric argument\n%s: -V value must be 2 or 3", x.Name)
	case n != 2 && n != 3:
		return errors.New("-V value must be 2 or 3")
	}
	return nil
}

// oneZone makes -z and -Z together an error, as in PCP's tool.
func oneZone(options []tool.Option) []tool.Option {
	given := map[byte]bool{}
	for i := range options {
		letter, set := options[i].Short, options[i].Set
		if letter != 'z' && letter != 'Z' {
			continue
		}
		options[i].Set = func(value string) error {
			given[letter] = true
			if given['z'] && given['Z'] {
				return errors.New("at most one of -Z and/or -z allowed")
			}
			return set(value)
		}
	}
	return options
}

// parseNumber parses the argument of an option into 32 bits, as in C.
func parseNumber(value string) (int, bool) {
	n, ok := scan.WholeInt(value)
	return int(int32(n)), ok
}

func (x *extract) run(ctx context.Context) error {
	args, err := x.Parse(os.Args[1:])
	switch {
	case err != nil:
		return err
	case len(args) < 2:
		return x.UsageErrorf("%s: Error: insufficient arguments\n", x.Name)
	}
	x.output = args[len(args)-1]
	j, err := x.job.Open(ctx, args[:len(args)-1])
	if err != nil {
		return x.openError(err)
	}
	defer j.Close()
	if err := x.selectMetrics(j); err != nil {
		return err
	}
	label := j.Label()
	x.SetArchiveZone(label.Host, label.TimeZone)
	if err := j.Create(x.output); err != nil {
		return x.createError(err)
	}
	if err := x.setWindow(j); err != nil {
		return err
	}
	if err := j.Run(ctx); err != nil {
		return x.fatal(err)
	}
	return nil
}

// selectMetrics selects the metrics of the file of -c.
func (x *extract) selectMetrics(j *logextract.Job) error {
	if x.config == "" {
		return nil
	}
	f, err := os.Open(x.config)
	if err != nil {
		return x.Errorf("Cannot open config file \"%s\": %w", x.config, pcptool.Cause(err))
	}
	defer f.Close()
	metrics, err := logextract.ParseConfig(f)
	j.Select(metrics)
	return x.configError(err)
}

// setWindow sets the time window.
func (x *extract) setWindow(j *logextract.Job) error {
	first, last := j.Bounds()
	spec := pmapi.WindowSpec{Location: x.Location}
	for _, o := range []struct{ given, to *string }{{x.start, &spec.Start}, {x.finish, &spec.Finish}} {
		if o.given != nil {
			*o.to = *o.given
			if *o.given == "" {
				*o.to = "@today"
			}
		}
	}
	w, err := spec.Window(first, last)
	if err != nil {
		return x.notCreated(fmt.Sprintf("%s: Invalid time window specified: %v\n\n", x.Name, pcptool.SyntaxError(err)))
	}
	if x.start != nil {
		j.From = w.Start
	}
	if x.finish != nil {
		j.Until = w.End.Truncate(time.Microsecond).Add(time.Second) // as PCP's tool does
	}
	if !x.daily {
		return nil
	}
	switch {
	case x.start == nil || x.finish == nil:
		fmt.Fprintf(os.Stderr, "%s: Warning: -w flag requires that both -S and -T are specified.\nIgnoring -w flag.\n", x.Name)
	case w.End.Sub(w.Start) > 24*time.Hour:
		fmt.Fprintf(os.Stderr, "%s: Warning: -S and -T must specify a time window within\nthe same day, for -w to be used.  Ignoring -w flag.\n", x.Name)
	default:
		j.Daily = true
	}
	return nil
}
