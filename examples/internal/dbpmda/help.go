package dbpmda

import "strings"

// usages are the forms of the commands, in the order of the output of help.
var usages = []struct{ command, form string }{
	{"attr", "name [value]"},
	{"attr", "attr# [value]"},
	{"children", "metric-name"},
	{"close", ""},
	{"debug", "all | none"},
	{"debug", "[-]flag [ [-]flag ... ] (- prefix to clear)"},
	{"desc", "metric"},
	{"fetch", "metric [ metric ... ]"},
	{"getdesc", "on | off"},
	{"getiname", "on | off"},
	{"instance", `indom# [ number | name | "name" ]`},
	{"label", "context"},
	{"label", "domain"},
	{"label", "indom indom#"},
	{"label", "cluster cluster#"},
	{"label", "item metric"},
	{"label", "instances indom#"},
	{"name", "pmid#"},
	{"namespace", "fname"},
	{"open", "dso dsoname init_routine [ domain# ]"},
	{"open", "pipe execname [ arg ... ]"},
	{"open", "socket unix sockname"},
	{"open", "socket inet port#|service"},
	{"open", "socket ipv6 port#|service"},
	{"pmid", "metric-name"},
	{"profile", "indom# [ all | none ]"},
	{"profile", "indom# [ add | delete ] number"},
	{"quit", ""},
	{"status", ""},
	{"store", `metric "value"`},
	{"text", "metric"},
	{"text", "indom indom#"},
	{"timer", "on | off"},
	{"traverse", "metric-name"},
	{"wait", "seconds"},
	{"watch", "logfilename"},
}

// helpTexts describe the commands. The help command accepts only commands with a text, and label.
var helpTexts = map[string]string{
	"attr": `Tell the agent an attribute of its client, such as the user, by the name
or the number of the attribute. Agents may give each user other values.
`,
	"children": `Ask the agent for the names one level below a name, and whether each is a
metric (leaf) or has names below it. For agents with dynamic names.
`,
	"close": `End the connection to the agent. The next open may be of another one.
`,
	"debug": `Set debug options (see pmdbg(1)) by name or, the old ones, by number; "-"
clears one. The command status lists those that are set. Of use here is pdu,
which prints what is sent and received.

`,
	"desc": `Print the descriptor of a metric, given by name or as a PMID: N, N.N or
N.N.N.
`,
	"fetch": `Fetch the values of metrics, each given by name or as a PMID: N, N.N or
N.N.N. The instances are those of the profile.
`,
	"getdesc": `Whether fetch asks for the descriptors first, to print values by their types.
`,
	"getiname": `Whether fetch asks for the names of the instances; else it prints ???.
`,
	"instance": `List the instances of an instance domain, or look up one of them by number
or name.
`,
	"name": `Ask the agent for the names of the metric with a PMID, three numbers such as
    name 29.0.1004
For agents with dynamic names.
`,
	"namespace": `Read the names of metrics from another file. If that fails, they are those of
the file that dbpmda was started with.
`,
	"open": `Open an agent. Pipe starts a program and speaks to it over its standard input
and output; the rest of the line is its arguments. Socket connects to an agent
that listens: at a path, or at a port of this host, by number or by the name of
a service. Dso runs an agent that is part of this program, which its
initialisation routine names: simple_init, say. If the routine is of no such agent,
and the daemon pmdaNAME stands beside the file pmda_NAME.so, that is started.
`,
	"pmid": `Ask the agent for the PMID of a name. For agents with dynamic names.
`,
	"profile": `Select the instances of an instance domain that fetch and store use: all,
none, or one more or less.
`,
	"quit": `Close the agent and end dbpmda.
`,
	"status": `Print the agent that is open, what is set, and the profile.
`,
	"store": `Store a value, in quotes, into all instances of a metric that the profile
selects. The metric is given by name or as a PMID: N, N.N or N.N.N. Before,
its descriptor and its values are asked for.
`,
	"text": `Print the help texts of a metric, or after the word indom of an instance
domain: first that of one line, in brackets, then the long one.
`,
	"timer": `Whether the time is printed that the agent took.
`,
	"traverse": `Ask the agent for all names of metrics below a name. For agents with dynamic
names.
`,
	"wait": `Do nothing for a number of seconds.
`,
	"watch": `Follow a log file in a window of xterm.
`,
}

// printUsage prints the forms of a command.
func (d *debugger) printUsage(command string) {
	for _, u := range usages {
		if u.command == command {
			d.printf("%s\n", strings.TrimSpace(u.command+" "+u.form))
		}
	}
}

// printCommands prints the forms of all commands.
func (d *debugger) printCommands() {
	d.printf("help [ command ]\n\n")
	for _, u := range usages {
		d.printf("%s\n", strings.TrimSpace(u.command+" "+u.form))
	}
	d.printf("\n")
}

// printHelp prints the forms of a command and what it does.
func (d *debugger) printHelp(command string) {
	d.printf("\n")
	d.printUsage(command)
	d.printf("\n")
	if help := helpTexts[command]; help != "" {
		d.printf("%s\n", help)
	}
}
