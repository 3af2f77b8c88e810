package getopt_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/internal/pcptest"
)

// set returns some of the options of pminfo, in its order. Each reports in got that it was set.
func set(got *[]string) *getopt.Set {
	s := &getopt.Set{
		Program:  "pminfo",
		Synopsis: "[options] [metricname | pmid | indom]...",
		Options: []getopt.Option{
			{Heading: "General options"},
			{Short: 'a', Long: "archive", Arg: "FILE", Help: "metrics source is a PCP log archive"},
			{Short: 'h', Long: "host", Arg: "HOST", Help: "metrics source is PMCD on host"},
			{Long: "container", Arg: "NAME", Help: "specify an individual container to be queried"},
			{Short: 'D', Long: "debug", Arg: "SPEC"},
			{Short: 'z', Long: "hostzone", Help: "set reporting timezone to local time of metrics source"},
			{Short: '?', Long: "help", Help: "show this usage message and exit", Set: getopt.Usage},
			{Heading: "Protocol options"},
			{Short: 'b', Long: "batch", Arg: "N", Help: "fetch N metrics at a time for -f and -v [128]"},
			{Short: 'f', Long: "fetch", Help: "fetch and print values for all instances"},
			{Short: 'F', Long: "fetchall", Help: "fetch and print values for non-enumerable indoms"},
			{Short: 'I', Long: "fullindom", Help: "print InDom in verbose format"},
			{Short: 'M', Long: "fullpmid", Help: "print PMID in verbose format"},
			{Short: 'T', Long: "helptext", Help: "get and display (verbose) help text"},
			{Long: "fine", Exact: true},
		},
	}
	for i := range s.Options {
		o := &s.Options[i]
		if o.Set == nil && o.Heading == "" {
			o.Set = func(v string) error {
				if v == "bad" {
					return fmt.Errorf("%s: bad", o.Long)
				}
				*got = append(*got, o.Long+"="+v)
				return nil
			}
		}
	}
	return s
}

// TestVersion gives --version to programs with and without such an option.
func TestVersion(t *testing.T) {
	for _, c := range []struct {
		name, args string
		own        getopt.Option
		letters    bool
		want       bool
	}{
		{"none", "--version", getopt.Option{}, false, true},
		{"none, beside others", "-f --version", getopt.Option{}, false, true},
		{"abbreviated", "--versio", getopt.Option{}, false, false},
		{"of the program", "--version", getopt.Option{Short: 'V', Long: "version"}, false, false},
		{"with an argument", "--version 3", getopt.Option{Short: 'V', Long: "version", Arg: "N"}, false, false},
		{"without its argument", "--version", getopt.Option{Short: 'V', Long: "version", Arg: "N"}, false, true},
		{"letters", "--version", getopt.Option{}, true, true},
	} {
		var got []string
		s := set(&got)
		s.Letters = c.letters
		s.Options = append(s.Options, c.own)
		_, errs := s.Parse(strings.Fields(c.args))
		var out strings.Builder
		s.Report(&out, errs)
		isVersion := strings.HasPrefix(out.String(), "pminfo: github.com/pcp-go/pcp ") && strings.Count(out.String(), "\n") == 1
		if isVersion != c.want || isVersion != (getopt.Status(errs) == 0) {
			t.Errorf("%s: status %d, %s", c.name, getopt.Status(errs), out.String())
		}
	}
}

func TestParse(t *testing.T) {
	tests := []struct {
		name    string
		args    string
		inOrder bool
		letters bool
		taken   []string
		left    []string
		errs    []string
	}{
		{name: "nothing"},
		{name: "bundle", args: "-fzF x", taken: []string{"fetch=", "hostzone=", "fetchall="}, left: []string{"x"}},
		{name: "argument in the word", args: "-fhlocal -b7", taken: []string{"fetch=", "host=local", "batch=7"}},
		{name: "argument in the next", args: "-fh local -b -7", taken: []string{"fetch=", "host=local", "batch=-7"}},
		{name: "long", args: "--host=h --host h2 --fetch --host=", taken: []string{"host=h", "host=h2", "fetch=", "host="}},
		{name: "equals in the argument", args: "--host=a=b -ha=b", taken: []string{"host=a=b", "host=a=b"}},
		{name: "prefix", args: "--ho=x --hostz --arch f --co c", errs: []string{
			"option '--ho=x' is ambiguous; possibilities: '--host' '--hostzone'"},
			taken: []string{"hostzone=", "archive=f", "container=c"}},
		{name: "exact name that others begin with", args: "--fetch --host y", taken: []string{"fetch=", "host=y"}},
		{name: "mixed", args: "x -f y", taken: []string{"fetch="}, left: []string{"x", "y"}},
		{name: "in order", args: "-f x -z y", inOrder: true, taken: []string{"fetch="}, left: []string{"x", "-z", "y"}},
		{name: "dashes", args: "-f - -- -z --", taken: []string{"fetch="}, left: []string{"-", "-z", "--"}},
		{name: "unknown", args: "-x --nosuch --nosuch=3 -fyz", taken: []string{"fetch=", "hostzone="}, errs: []string{
			"invalid option -- 'x'", "unrecognized option '--nosuch'", "unrecognized option '--nosuch=3'", "invalid option -- 'y'"}},
		{name: "letters of other bytes", args: "-é", errs: []string{"invalid option -- '\xc3'", "invalid option -- '\xa9'"}},
		{name: "argument missing", args: "-f -h", taken: []string{"fetch="}, errs: []string{"option requires an argument -- 'h'"}},
		{name: "long argument missing", args: "--arc", errs: []string{"option '--archive' requires an argument"}},
		{name: "argument not allowed", args: "--fetch=3", errs: []string{"option '--fetch' doesn't allow an argument"}},
		{name: "ambiguous", args: "--h --f", errs: []string{
			"option '--h' is ambiguous; possibilities: '--host' '--helptext' '--help' '--hostzone'",
			"option '--f' is ambiguous; possibilities: '--fetch' '--fullpmid' '--fullindom' '--fetchall'"}},
		{name: "exact", args: "--fi --fine --fin", taken: []string{"fine="}, errs: []string{"unrecognized option '--fi'", "unrecognized option '--fin'"}},
		{name: "refused", args: "-h bad -f", taken: []string{"fetch="}, errs: []string{"host: bad"}},
		{name: "letters", args: "--zf -- --x", letters: true, taken: []string{"hostzone=", "fetch="}, left: []string{"--x"}, errs: []string{"invalid option -- '-'"}},
		{name: "usage", args: "-? -f", taken: []string{"fetch="}, errs: []string{"usage"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var taken, errs []string
			s := set(&taken)
			s.InOrder, s.Letters = tt.inOrder, tt.letters
			left, es := s.Parse(strings.Fields(tt.args))
			for _, err := range es {
				errs = append(errs, err.Error())
			}
			type result struct{ Taken, Left, Errs []string }
			if diff := cmp.Diff(result{tt.taken, tt.left, tt.errs}, result{taken, left, errs}); diff != "" {
				t.Errorf("Parse(%q) (-want +got):\n%s", tt.args, diff)
			}
		})
	}
}

const usage = `Usage: pminfo [options] [metricname | pmid | indom]...

General options:
  -a FILE, --archive=FILE
                        metrics source is a PCP log archive
  -h HOST, --host=HOST  metrics source is PMCD on host
  --container=NAME      specify an individual container to be queried
  -z, --hostzone        set reporting timezone to local time of metrics source
  -?, --help            show this usage message and exit

Protocol options:
  -b N, --batch=N       fetch N metrics at a time for -f and -v [128]
  -f, --fetch           fetch and print values for all instances
  -F, --fetchall        fetch and print values for non-enumerable indoms
  -I, --fullindom       print InDom in verbose format
  -M, --fullpmid        print PMID in verbose format
  -T, --helptext        get and display (verbose) help text
`

func TestReport(t *testing.T) {
	s := set(nil)
	var out strings.Builder
	if s.Report(&out, nil) || out.Len() > 0 {
		t.Errorf("without errors, Report printed %q", &out)
	}
	if !s.Report(&out, []error{errors.New("no good"), getopt.ErrUsage}) {
		t.Error("Report says that there were no errors")
	}
	if diff := cmp.Diff("pminfo: no good\n"+usage, out.String()); diff != "" {
		t.Errorf("Report (-want +got):\n%s", diff)
	}
}

// TestUsageWidth checks the widths that move an explanation to a separate line.
func TestUsageWidth(t *testing.T) {
	s := getopt.Set{Program: "p", Synopsis: "x", Options: []getopt.Option{
		{Short: 'A', Long: "align", Arg: "TIME", Help: "21 columns"},
		{Short: 'O', Long: "origin", Arg: "TIME", Help: "22 columns"},
		{Short: 'L', Arg: "BYTES", Help: "letter only"},
	}}
	want := `Usage: p x
  -A TIME, --align=TIME 21 columns
  -O TIME, --origin=TIME
                        22 columns
  -L BYTES              letter only
`
	if diff := cmp.Diff(want, s.Usage()); diff != "" {
		t.Errorf("Usage (-want +got):\n%s", diff)
	}
}

// TestInterop compares messages with those of pminfo. What it says of the table's other options is
// left out.
func TestInterop(t *testing.T) {
	pcptest.Need(t, "pminfo")
	for _, args := range []string{"-y", "--nosuch", "--nosuch=3", "-b", "-fb", "--archive", "--arch", "--fetch=3", "--h", "--f",
		"--f=3", "-f3", "--ho", "-fy", "-y --nosuch", "x -y", "-?", "--help"} {
		t.Run(args, func(t *testing.T) {
			argv := strings.Fields(args)
			out, want, status := pcptest.Run(t, nil, "", append([]string{"pminfo"}, argv...)...)
			if out != "" || status != 1 {
				t.Fatalf("pminfo: status %d, output %q", status, out)
			}
			var taken []string
			s := set(&taken)
			_, errs := s.Parse(argv)
			var got strings.Builder
			s.Report(&got, errs)
			wantLines := strings.Split(want, "\n")
			var rest []string
			for line := range strings.SplitSeq(got.String(), "\n") {
				i := 0
				for i < len(wantLines) && wantLines[i] != line {
					i++
				}
				if i == len(wantLines) {
					rest = append(rest, line)
					continue
				}
				wantLines = wantLines[i+1:]
			}
			if rest != nil {
				t.Errorf("lines that pminfo does not print, or not in this order: %q\npminfo:\n%s", rest, want)
			}
			if w, g := head(want), head(got.String()); w != g {
				t.Errorf("messages before the usage: %q, want %q", g, w)
			}
		})
	}
}

func head(s string) string {
	before, _, _ := strings.Cut(s, "Usage:")
	return before
}
