package pmlogger

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/pcp-go/pcp/examples/internal/dso"
	"github.com/pcp-go/pcp/examples/internal/hint"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// options is the parsed command line.
type options struct {
	cmd       *pcptool.Command
	namespace func(string) error // reads the file of -n, when there is a log for errors

	config, host, labelHost, log, note, names, finish, user string
	check, linger, notify, primary, report, local, zone     bool

	pid         int            // of -p, 0 without
	protocol    int            // of -I, 0 without
	version     int            // of -V, 0 without
	control     int            // the descriptor of -x, -1 without
	interval    *time.Duration // of -t
	end, volume size
	daily       daily
	login       login

	base string // of the archive, or the directory of archives
}

// programName is the name in messages.
const programName = "pmlogger"

// parseOptions parses the command line. The error is a *pcptool.ExitError.
func parseOptions(args []string) (*options, error) {
	o := &options{control: -1}
	c := &pcptool.Command{Name: programName, Synopsis: "[options] archive", NoEnvironment: true, Local: dso.Local(programName),
		LocalError: `Cannot connect to PMCD on host "local context"`}
	o.cmd = c
	o.namespace = c.Standard("namespace")[0].Set
	o.setTable()
	operands, err := c.Parse(args)
	if err != nil {
		return o, err
	}
	wrong := ""
	if o.primary && o.host != "" {
		wrong = fmt.Sprintf("%[1]s: -P and -h are mutually exclusive; use -P only when running\n%[1]s on the same (local) host as the PMCD to which it connects.\n", c.Name)
	}
	if o.local && o.host != "" {
		wrong += fmt.Sprintf("%[1]s: -o and -h are mutually exclusive; use -o only when running\n%[1]s on the same (local) host as the DSO PMDA(s) being used.\n", c.Name)
	}
	switch {
	case wrong != "":
	case o.daily.given != "" && !o.daily.on:
		wrong = fmt.Sprintf("%s: --%s is for --daily\n", c.Name, o.daily.given)
	case len(operands) == 0 && !o.check:
		wrong = fmt.Sprintf("%s: insufficient arguments\n", c.Name)
	case len(operands) > 1:
		wrong = fmt.Sprintf("%s: too many arguments\n", c.Name)
	}
	if len(operands) == 1 {
		o.base = operands[0]
	}
	switch {
	case wrong != "":
	case o.daily.on && isURL(o.base):
		wrong = fmt.Sprintf("%s: --daily is for a directory\n", c.Name)
	case o.login.user.Password != "" && !isURL(o.base):
		wrong = fmt.Sprintf("%s: --login is for an archive of a URL\n", c.Name)
	}
	if wrong != "" {
		advice := ""
		if o.daily.on && o.base == "" {
			advice = "name the directory of the archives: pmlogger --daily -c CONFIG DIRECTORY"
		}
		return o, pcptool.WithHint(c.UsageErrorf("%s", wrong), advice)
	}
	return o, nil
}

// setTable sets the table of options, which is that of the usage message.
func (o *options) setTable() {
	c := o.cmd
	text := func(v *string) func(string) error {
		return func(s string) error { *v = s; return nil }
	}
	standard := func(name, help string) tool.Option {
		s := c.Standard(name)[0]
		s.Help = help
		return s
	}
	c.AddOptions("Options",
		tool.Option{Short: 'c', Long: "config", Arg: "FILE", Help: "file to load configuration from", Set: text(&o.config)},
		tool.Option{Short: 'C', Long: "check", Help: "parse configuration and exit", Set: tool.Flag(&o.check)},
		tool.Option{Short: 'h', Long: "host", Arg: "HOST", Help: "metrics source is PMCD on host", Set: text(&o.host)},
		tool.Option{Short: 'H', Long: "labelhost", Arg: "LABELHOST", Help: "override the hostname written into the label", Set: text(&o.labelHost)},
		tool.Option{Short: 'I', Long: "pmlc-ipc-version", Arg: "VERSION", Help: "set IPC version for pmlc port [default LOG_PDU_VERSION]", Set: o.setProtocol},
		tool.Option{Short: 'l', Long: "log", Arg: "FILE", Help: "redirect diagnostics and trace output", Set: text(&o.log)},
		tool.Option{Short: 'L', Long: "linger", Help: "run even if not primary logger instance and nothing to log", Set: tool.Flag(&o.linger)},
		tool.Option{Short: 'm', Long: "note", Arg: "MSG", Help: "descriptive note to be added to the port map file", Set: text(&o.note)},
		standard("spec-local", "optional additional PMDA spec for local connection"),
		tool.Option{Short: 'o', Long: "local-PMDA", Help: "metrics sourced without connecting to pmcd", Set: tool.Flag(&o.local)},
		tool.Option{Short: 'n', Long: "namespace", Arg: "FILE", Help: "use an alternative PMNS", Set: text(&o.names)},
		tool.Option{Short: 'N', Long: "notify", Help: "notify service manager (if any) when started and ready", Set: tool.Flag(&o.notify)},
		tool.Option{Short: 'p', Long: "PID", Arg: "PID", Help: "Log specified metric for the lifetime of the pid", Set: o.setPID},
		tool.Option{Short: 'P', Long: "primary", Help: "execute as primary logger instance", Set: tool.Flag(&o.primary)},
		tool.Option{Short: 'r', Long: "report", Help: "report record sizes and archive growth rate", Set: tool.Flag(&o.report)},
		tool.Option{Short: 's', Long: "size", Arg: "SIZE", Help: "terminate after endsize has been accumulated", Set: o.end.set("exit size")},
		tool.Option{Short: 't', Long: "interval", Arg: "DELTA", Help: "default logging interval [default 60.0 seconds]", Set: o.setInterval},
		tool.Option{Short: 'T', Long: "finish", Arg: "TIME", Help: "end of the time window", Set: text(&o.finish)},
		tool.Option{Short: 'u', Help: "output is unbuffered [default now, so -u is a no-op]"},
		tool.Option{Short: 'U', Long: "username", Arg: "USER", Help: "in daemon mode, run as named user [default pcp]", Set: text(&o.user)},
		tool.Option{Short: 'v', Long: "volsize", Arg: "SIZE", Help: "switch log volumes after size has been accumulated", Set: o.volume.set("volume size")},
		tool.Option{Short: 'V', Long: "version", Arg: "NUM", Help: "version for archive (2 or 3); --version alone shows that of the program", Set: o.setVersion},
		tool.Option{Short: 'x', Arg: "FD", Help: "control file descriptor for running from pmRecordControl(3)", Set: o.setControl},
		tool.Option{Short: 'y', Help: "set timezone for times to local time rather than from PMCD host", Set: tool.Flag(&o.zone)},
		standard("help", "show this usage message and exit"),
		tool.Option{Short: 'D', Long: "debug", Arg: "DBG", Set: o.setDebug},
	)
	c.AddOptions("Options that PCP's pmlogger does not have", append(o.daily.options(), o.login.options()...)...)
}

func (o *options) setProtocol(text string) error {
	n, ok := scan.WholeInt(text)
	switch {
	case !ok:
		return fmt.Errorf("non-numeric pmlc IPC version (%s)", text)
	case n != 2 && n != 3:
		return fmt.Errorf("unsupported pmlc IPC version (%s)", text)
	}
	o.protocol = int(n)
	return nil
}

func (o *options) setPID(text string) error {
	n, ok := scan.WholeInt(text)
	switch {
	case !ok:
		return fmt.Errorf("invalid process identifier (%s)", text)
	case n <= 0 || n > 1<<31-1 || !exists(int(n)):
		return fmt.Errorf("PID error - no such process (%d)", n)
	}
	o.pid = int(n)
	return nil
}

func (o *options) setInterval(text string) error {
	d, err := pmapi.ParseInterval(text)
	if err != nil {
		return hint.With(fmt.Errorf("illegal -t argument\n%w", pcptool.SyntaxError(err)), "-t: "+hint.Interval)
	}
	o.interval = &d
	return nil
}

// defaultInterval returns the interval of "default" in the configuration. It is that of -t, or that
// of PMLOGGER_INTERVAL in whole seconds, where text without a number is 0 as for C's program. 0
// means once.
func (o *options) defaultInterval() time.Duration {
	if o.interval != nil {
		return *o.interval
	}
	text, ok := os.LookupEnv("PMLOGGER_INTERVAL")
	if !ok {
		return time.Minute
	}
	sec, _, _ := scan.Int(text)
	return time.Duration(int32(sec)) * time.Second
}

func (o *options) setVersion(text string) error {
	n, ok := scan.WholeInt(text)
	if !ok || n != 2 && n != 3 {
		return errors.New("-V requires a version number of 2 or 3")
	}
	o.version = int(n)
	return nil
}

func (o *options) setControl(text string) error {
	n, ok := scan.WholeInt(text)
	if !ok || n < 0 || n > 1<<31-1 {
		return errors.New("-x requires a non-negative numeric argument")
	}
	o.control = int(n)
	return nil
}

func (o *options) setDebug(text string) error {
	names, ok := pmlog.ParseDebug(text)
	if !ok {
		return fmt.Errorf("unrecognized debug flag specification (%s)", text)
	}
	o.cmd.Debug = append(o.cmd.Debug, names...)
	return nil
}

// isDaemon reports whether the program runs as a service and switches to another user. That is true
// for the primary logger, for one that pmlogger_check has started, and for one that has restarted
// itself.
func (o *options) isDaemon() bool {
	return o.primary || o.user != "" || o.isRestarted()
}

// isRestarted reports whether PCP's scripts start the program again when it ends.
func (o *options) isRestarted() bool {
	return o.note == checkNote || strings.HasPrefix(o.note, reexecNote)
}

// The values of -m with an effect.
const (
	checkNote  = "pmlogger_check"
	reexecNote = "reexec"
)
