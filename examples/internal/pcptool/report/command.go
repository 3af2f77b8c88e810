package report

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// A Command is the command line of pmrep(1), or of pcp2csv(1) by its name, and of programs like it.
type Command struct {
	pcptool.Command
	// Options are those of the configuration and of the command line, after Parse.
	Options Options
	// Check requests only the headers.
	Check bool

	config      *Config
	configPath  string // that of the command line, "" without
	configNamed bool
	specLocal   []string // of -K
	local       bool     // -L
	samples     bool     // -s
	interval    bool     // -t
	derived     bool     // -e
	specs       []Spec
	refused     error // an option that ends the program
}

// NewCommand makes a command line. Its name is that of messages.
func NewCommand(name string) *Command {
	c := &Command{Options: NewOptions()}
	_, c.Options.CounterWrap = os.LookupEnv("PCP_COUNTER_WRAP")
	c.Command = pcptool.Command{Name: name, Synopsis: "[option...] metricspec [...]", HighRes: true, AnyWindow: true}
	c.AddOptions("General options", c.generalOptions()...)
	c.AddOptions("Reporting options", c.reportingOptions()...)
	return c
}

// keywordOption is an option that is that of a keyword.
func (c *Command) keywordOption(short byte, long, arg, help, name, value string) tool.Option {
	set := func(given string) error {
		if arg == "" {
			given = value
		} else if given == "" && name != "colxrow" && name != "delimiter" && name != "timefmt" {
			return nil // as if it were not there
		}
		return keyword(name)(&c.Options, given)
	}
	return tool.Option{Short: short, Long: long, Arg: arg, Help: help, Set: set}
}

// set is an option with an argument that is that of a keyword.
func (c *Command) set(short byte, long, arg, help, name string) tool.Option {
	return c.keywordOption(short, long, arg, help, name, "")
}

// number is a keywordOption whose argument is a number. It rejects the words of truthWords.
func (c *Command) number(short byte, long, arg, help, name string) tool.Option {
	o := c.keywordOption(short, long, arg, help, name, "")
	set := o.Set
	o.Set = func(given string) error {
		if _, ok := truthWords[given]; ok {
			given = "no number"
		}
		return set(given)
	}
	return o
}

// yes is an option without an argument that makes a keyword true.
func (c *Command) yes(short byte, long, help, name string) tool.Option {
	return c.keywordOption(short, long, "", help, name, "yes")
}

// no is an option without an argument that makes a keyword false.
func (c *Command) no(short byte, long, help, name string) tool.Option {
	return c.keywordOption(short, long, "", help, name, "no")
}

// standard returns a standard option that sets given if the command line has it.
func (c *Command) standard(name string, given *bool) tool.Option {
	o := c.Standard(name)[0]
	set := o.Set
	o.Set = func(value string) error {
		*given = true
		return set(value)
	}
	return o
}

func (c *Command) generalOptions() []tool.Option {
	all := c.Standard("archive", "archive-folio", "container", "host")
	all = append(all,
		c.standard("local-PMDA", &c.local),
		tool.Option{Short: 'K', Long: "spec-local", Arg: "SPEC", Help: "optional additional PMDA spec for local connection",
			Set: func(value string) error { c.specLocal = append(c.specLocal, value); return nil }},
		tool.Option{Short: 'c', Long: "config", Arg: "FILE", Help: "config file path", Set: c.setConfig},
		tool.Option{Short: 'C', Long: "check", Help: "check config and metrics and exit", Set: tool.Flag(&c.Check)},
		c.set('o', "output", "OUTPUT", "output target: archive, csv, stdout (default)", "output"),
		tool.Option{Short: 'F', Long: "output-file", Arg: "OUTFILE", Help: "output file", Set: c.setOutFile},
		tool.Option{Short: 'e', Long: "derived", Arg: "FILE|DFNT", Help: "derived metrics definitions", Set: c.setDerived},
		c.yes(0, "daemonize", "daemonize on startup", "daemonize"))
	all = append(all, c.Standard("debug", "version", "help")...)
	return all
}

func (c *Command) reportingOptions() []tool.Option {
	all := []tool.Option{
		c.no('H', "no-header", "omit headers", "header"),
		c.no('U', "no-unit-info", "omit unit info from headers", "unitinfo"),
		c.no(0, "no-inst-info", "omit instance info from headers", "instinfo"),
		c.no('G', "no-globals", "omit global metrics", "globals"),
		c.yes('p', "timestamps", "print timestamps", "timestamp"),
	}
	all = append(all, c.Standard("align", "start", "finish", "origin")...)
	all = append(all, c.standard("samples", &c.samples), c.standard("interval", &c.interval))
	all = append(all, c.Standard("timezone", "hostzone")...)
	all = append(all,
		c.yes('d', "delay", "delay, pause between updates for archive replay", "delay"),
		c.keywordOption('r', "raw", "", "output raw counter values (no rate conversion)", "type", "raw"),
		c.keywordOption('R', "raw-prefer", "", "prefer output raw counter values (no rate conversion)", "type_prefer", "raw"),
		c.yes('I', "ignore-incompat", "ignore incompatible instances (default: abort)", "ignore_incompat"),
		c.yes('5', "ignore-unknown", "ignore unknown metrics (default: abort)", "ignore_unknown"))
	all = append(all, c.selectingOptions()...)
	return append(all, c.layoutOptions()...)
}

func (c *Command) selectingOptions() []tool.Option {
	return []tool.Option{
		{Short: 'i', Long: "instances", Arg: "STR", Help: "instances to report (default: all current)", Set: func(value string) error {
			if value != "" {
				c.Options.Instances = append(c.Options.Instances, splitInstances(value)...)
			}
			return nil
		}},
		c.yes('j', "live-filter", "perform instance live filtering", "live_filter"),
		c.number('J', "rank", "COUNT", "limit results to COUNT highest/lowest valued instances", "rank"),
		c.yes('2', "overall-rank", "report overall ranking from archive", "overall_rank"),
		c.yes('3', "overall-rank-alt", "report overall ranking from archive in pmrep format", "overall_rank_alt"),
		{Short: '4', Long: "names-change", Arg: "ACTION", Help: "update/ignore/abort on PMNS changes (default: ignore)", Set: c.setNamesChange},
		c.number('8', "limit-filter", "LIMIT", "default limit for value filtering", "limit_filter"),
		c.number('9', "limit-filter-force", "LIMIT", "forced limit for value filtering", "limit_filter_force"),
		c.yes('n', "invert-filter", "perform ranking before live filtering", "invert_filter"),
		c.set('N', "predicate", "METRIC", "set predicate filter reference metric", "predicate"),
		c.set('6', "sort-metric", "METRIC", "set sort reference metric for colxrow output", "sort_metric"),
		c.yes('v', "omit-flat", "omit single-valued metrics", "omit_flat"),
		c.yes('m', "include-labels", "include metric label info", "include_labels"),
		c.yes(0, "include-texts", "include metric help texts in archive output", "include_texts"),
	}
}

func (c *Command) layoutOptions() []tool.Option {
	return []tool.Option{
		c.set('X', "colxrow", "STR", "swap stdout columns and rows using STR as header label", "colxrow"),
		c.number('w', "width", "N", "default column width", "width"),
		c.number('W', "width-force", "N", "forced column width", "width_force"),
		c.number('P', "precision", "N", "prefer N digits after decimal separator (default: 3)", "precision"),
		c.number('0', "precision-force", "N", "force N digits after decimal separator", "precision_force"),
		c.set('l', "delimiter", "STR", "delimiter to separate csv/stdout columns", "delimiter"),
		c.yes('k', "extended-csv", "write extended CSV", "extcsv"),
		c.yes('x', "extended-header", "display extended header", "extheader"),
		c.yes('7', "fixed-header", "fixed header and dynamic instances with colxrow output", "fixed_header"),
		c.number('E', "repeat-header", "N", "repeat stdout headers every N lines", "repeat_header"),
		c.yes('1', "dynamic-header", "update header dynamically on metric/instance changes", "dynamic_header"),
		c.yes('g', "separate-header", "write separated header before metrics", "separate_header"),
		c.set('f', "timestamp-format", "STR", "strftime string for timestamp format", "timefmt"),
		c.no('u', "no-interpol", "disable interpolation mode with archives", "interpol"),
		c.set('q', "count-scale", "SCALE", "default count unit", "count_scale"),
		c.set('Q', "count-scale-force", "SCALE", "forced count unit", "count_scale_force"),
		c.set('b', "space-scale", "SCALE", "default space unit", "space_scale"),
		c.set('B', "space-scale-force", "SCALE", "forced space unit", "space_scale_force"),
		c.set('y', "time-scale", "SCALE", "default time unit", "time_scale"),
		c.set('Y', "time-scale-force", "SCALE", "forced time unit", "time_scale_force"),
	}
}

func (c *Command) setConfig(value string) error {
	c.configPath, c.configNamed = value, true
	return nil
}

// setDerived adds definitions to those of the command line, which replace those of files.
func (c *Command) setDerived(value string) error {
	if !c.derived {
		c.Options.Derived = nil
	}
	c.derived = true
	c.Options.Derived = append(c.Options.Derived, strings.Split(value, ";")...)
	return nil
}

var namesActions = map[string]int{"ignore": NamesIgnore, "abort": NamesAbort, "update": NamesUpdate}

func (c *Command) setNamesChange(value string) error {
	action, ok := namesActions[value]
	if !ok {
		c.refuse(fmt.Sprintf("Unknown names-change action '%s' specified.", value))
	}
	c.Options.NamesChange = action
	return nil
}

// setOutFile sets the file of the output, which must not be there.
func (c *Command) setOutFile(value string) error {
	c.Options.OutFile = value
	info, err := os.Stat(value)
	_, indexErr := os.Stat(value + ".index")
	switch {
	case indexErr == nil:
		c.refuse("Archive " + value + " already exists.")
	case err != nil:
	case info.IsDir():
		c.refuse("Directory " + value + " already exists.")
	default:
		c.refuse("File " + value + " already exists.")
	}
	return nil
}

// refuse notes the first option that cannot be used.
func (c *Command) refuse(text string) {
	if c.refused == nil {
		c.refused = errors.New(text)
	}
}

// scanConfig finds the configuration that a command line names, and the sets of metrics, before
// options are parsed. No configuration is read if the command line requests the version or the
// usage message.
func scanConfig(args []string) (path string, sets []string, help bool) {
	scanning := true
	for i, arg := range args {
		if set, ok := strings.CutPrefix(arg, ":"); ok {
			sets = append(sets, set)
		}
		switch {
		case !scanning:
		case arg == "-?" || arg == "--help" || arg == "-V" || arg == "--version":
			scanning, help = false, true
		case (arg == "-c" || arg == "--config") && i+1 < len(args):
			path, scanning = args[i+1], false
		case strings.HasPrefix(arg, "-c"):
			path, scanning = arg[len("-c"):], false
		}
	}
	return path, sets, help
}
