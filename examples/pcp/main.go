// Pcp runs commands named pcp-NAME, such as pcp-free, with a source and a time window from its own
// options. Without a command it prints a summary of a PCP installation. Options, output and exit
// status are those of pcp(1) of PCP.
//
//	pcp -h web1            # the summary of a host
//	pcp -a 20261123 free   # runs pcp-free on an archive
//
// Pcp looks for the program of a command in ~/.pcp/bin, in its own directory, and in the directory
// of PCP's commands. To run the commands of this module, build them into one directory with pcp:
//
//	cd examples && go build -o DIR/ ./pcp ./pcp-free ./pcp-iostat ./pcp-uptime ./pcp-vmstat
package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/launch"
	"github.com/pcp-go/pcp/examples/internal/pcpsummary"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pmapi/tool"
)

func main() {
	pcptool.LimitMemory()
	os.Exit(run(os.Args[1:]))
}

// variables maps options to the environment variables that pass them to commands.
var variables = map[byte]string{
	'A': "PCP_ALIGN_TIME", 'a': "PCP_ARCHIVE", 'D': "PCP_DEBUG", 'g': "PCP_GUIMODE", 'h': "PCP_HOST", 'L': "PCP_LOCALMODE",
	'n': "PCP_NAMESPACE", 'O': "PCP_ORIGIN_TIME", 'p': "PCP_GUIPORT", 'S': "PCP_START_TIME", 's': "PCP_SAMPLES",
	'T': "PCP_FINISH_TIME", 't': "PCP_INTERVAL", 'Z': "PCP_TIMEZONE", 'z': "PCP_HOSTZONE",
}

func run(args []string) (status int) {
	table := &pcptool.Command{Name: "pcp", Synopsis: "[options] [[...] command [...]]"}
	table.AddOptions("Summary Options", table.Standard("archive", "host", "origin", "namespace")...)
	table.Options = append(table.Options, tool.Option{Short: 'P', Long: "pmie", Help: "display pmie evaluation statistics"})
	table.Options = append(table.Options, table.Standard("help")...)
	table.AddOptions("Command Options", table.Standard("align", "archive", "debug", "guimode", "host", "local-PMDA", "namespace", "origin",
		"guiport", "start", "samples", "finish", "interval", "timezone", "hostzone", "version")...)
	conf, err := pcpconf.Load("")
	if err != nil {
		fmt.Fprintf(os.Stderr, "pcp: %v\n", err)
		return 1
	}
	p := parsed{}
	operands := p.parse(table.Options, args)
	switch {
	case p.end == "version":
		fmt.Println("pcp version " + pcptool.PCPVersion)
		return 0
	case p.end == "usage":
		commands := "Available Commands:     " + strings.Join(available(conf), " ")
		fmt.Fprintf(os.Stderr, "%s\n%s\n", table.Usage(), strings.Join(pcpsummary.Fill(commands), "\n           "))
		return 1
	}
	for name, value := range p.env {
		os.Setenv(name, value)
	}
	name := "summary"
	if len(operands) > 0 {
		name, operands = operands[0], operands[1:]
	}
	return runCommand(conf, name, slices.Concat(p.args, operands))
}

// parsed is the parsed command line.
type parsed struct {
	env  map[string]string // of the command
	args []string          // of the command, before the operands
	end  string            // "usage" or "version", whichever comes first; nothing is run
}

// parse parses the command line and returns the operands. The first operand is the command.
func (p *parsed) parse(options []tool.Option, args []string) (operands []string) {
	p.env = map[string]string{}
	end := func(what string) { p.end = cmp.Or(p.end, what) }
	set := getopt.Set{InOrder: true, Fail: func(error) { end("usage") }}
	known := map[byte]bool{}
	for _, o := range options {
		if known[o.Short] {
			continue // -a and others are in both parts
		}
		known[o.Short] = true
		option := getopt.Option{Short: o.Short, Long: o.Long, Arg: o.Arg}
		option.Set = func(value string) error {
			switch o.Short {
			case 'P':
				p.args = append(p.args, "-P")
			case 'V':
				end("version")
			case '?':
				end("usage")
			default:
				if o.Arg == "" {
					value = "true"
				}
				p.env[variables[o.Short]] = value
			}
			return nil
		}
		set.Options = append(set.Options, option)
	}
	operands, _ = set.Parse(args)
	return operands
}

// places are the directories of commands.
func places(conf *pcpconf.Conf) []string {
	var dirs []string
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Join(home, ".pcp", "bin"))
	}
	if self, err := os.Executable(); err == nil {
		dirs = append(dirs, filepath.Dir(self))
	}
	return append(dirs, conf.Get("PCP_BINADM_DIR"))
}

// prefix is what the names of the programs of commands begin with.
const prefix = "pcp-"

// runCommand runs a command, or the program of its name.
func runCommand(conf *pcpconf.Conf, name string, args []string) (status int) {
	if name == "summary" {
		return pcpsummary.Run(args)
	}
	path := ""
	for _, dir := range places(conf) {
		path = cmp.Or(path, launch.In(dir, prefix+name))
	}
	if path == "" && name != "" {
		path = launch.In("", name)
	}
	if path == "" {
		fmt.Fprintf(os.Stderr, "Cannot find a pcp-%s command to execute\n", terminal.Escape(name))
		fmt.Println("Please install pcp system tools package")
		return 1
	}
	status, err := launch.Run(path, args...)
	if err != nil {
		fmt.Fprintf(os.Stderr, "pcp: %s: %v\n", terminal.Escape(path), err)
	}
	return status
}

// available are the names of all commands.
func available(conf *pcpconf.Conf) []string {
	names := map[string]bool{"summary": true}
	for _, dir := range places(conf) {
		entries, _ := os.ReadDir(dir) // one that cannot be read has none
		for _, e := range entries {
			if name, ok := strings.CutPrefix(e.Name(), prefix); ok {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
