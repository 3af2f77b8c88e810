package pmda

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/pcp-go/pcp/internal/account"
	"github.com/pcp-go/pcp/internal/daemonfile"
	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/internal/loglimit"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
)

// Main is the main function of an agent that is a program: it serves, and ends the program. It
// serves on standard input and output, which a collector has connected to pipes, or on the socket
// that an option names. It has the options of PCP's agents; --help lists them.
//
// The log is the file NAME.log in the working directory unless -l names another, "-" being standard
// error. Leave a.Logger nil, so that failures of the agent's functions are logged there too. The
// option --install installs the program into a PCP installation.
//
// What the agent prints to standard output goes to the log. If root starts the program, it changes
// to the user that -U names, or pcp if there is one. The exit status is 0 after the collector has
// closed the connection, and 1 for a wrong command line or when the agent cannot serve.
//
// SIGTERM and SIGINT end the program as they end C agents, but it finishes its log first. With
// --stay, an agent on a socket serves the next collector when one has gone, until a signal comes. A
// second signal kills the program, even if a function of the agent hangs.
//
// Main does what the main function of a C agent does with pmdaDaemon(3), pmdaGetOptions(3),
// pmdaOpenLog(3), pmdaConnect(3) and pmdaMain(3). A Daemon has more settings.
func Main(a *Agent) {
	d := &Daemon{Agent: a}
	if a != nil {
		d.Log = a.Name + ".log"
	}
	d.Main()
}

// A Daemon is an Agent with the settings of its program. All fields but Agent may be
// zero.
type Daemon struct {
	Agent *Agent
	// Handler, if not nil, serves instead of the Agent itself. It wraps the Agent: it is the result
	// of Serial, or a type that embeds the Agent or another wrapper and has a method Unwrap.
	Handler Handler
	// Log is the log file unless -l names one; empty means standard error.
	Log string
	// User is the account that the program changes to if root starts it, unless -U
	// names one; empty means pcp if that exists.
	User string
	// PipeOnly omits the options for sockets: the agent serves only on pipes.
	PipeOnly bool
	// HelpPath is a file with help texts, as for Agent.UseHelp, so that an installation may have
	// different texts. The file need not exist. Empty means no file.
	HelpPath string
	// HelpOption adds an option -h, whose argument replaces HelpPath.
	HelpOption bool
	// Files are further files for --install, such as a configuration. A file that exists in the
	// directory stays as it is.
	Files []InstallFile
	// Options are further options. An option replaces the standard option with the same letter,
	// such as -l. An option -D adds to the standard one instead: -D pdu still logs PDUs.
	Options []Option
	// Operands, if not nil, is called with the arguments that are not options. An error is printed,
	// with the usage message, and ends the program. If Operands is nil, these arguments are
	// ignored, as by C agents.
	Operands func(args []string) error
	// Start, if not nil, starts further work of the program, such as serving other clients than the
	// collector. It is called when the log is open, before the program changes its user and the
	// Agent serves. An error ends the program. When the Agent no longer serves, ctx ends and wait,
	// which may be nil, is called.
	Start func(ctx context.Context) (wait func(), err error)
}

// An Option is an option of a Daemon.
type Option struct {
	Short byte   // its letter, 0 if it has none
	Long  string // its name, empty if it has none
	Arg   string // what the usage message calls its argument; empty if it has none
	Help  string // what it does, in a few words
	// Set is called with the argument of the option, or with an empty string if Arg is empty. It
	// must not be nil. An error is printed, with the usage message, and ends the program.
	Set func(value string) error
}

// Main runs the Daemon with the program's arguments and standard streams, and
// ends the program.
func (d *Daemon) Main() {
	ctx, exit := untilSignal(context.Background())
	exit(d.run(ctx, process{os.Args, os.Stdin, os.Stdout, os.Stderr, true}))
}

// Run is Main inside a larger program: it returns the exit status, and ends with ctx. args has the
// program's name first. The streams take the place of the program's own, which Run leaves alone. If
// the agent serves on stdin and stdout, Run closes those that are io.Closers. The user changes only
// if -U is given.
func (d *Daemon) Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return d.run(ctx, process{args, stdin, stdout, stderr, false})
}

// A process has the parts of the process that a Daemon uses.
type process struct {
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	own            bool // the Daemon is the whole program: it may change streams and user
}

func (p process) program() string {
	if len(p.args) == 0 {
		return "pmda"
	}
	return filepath.Base(p.args[0])
}

// run returns the exit status.
func (d *Daemon) run(ctx context.Context, p process) int {
	if d.Agent == nil {
		pmlog.New(p.stderr, p.program(), slog.LevelInfo).Log(ctx, pmlog.LevelCritical, errNilAgent.Error())
		return 1
	}
	c, set := d.command(p)
	operands, errs := set.Parse(p.args[min(1, len(p.args)):])
	if d.Operands != nil && len(errs) == 0 {
		if err := d.Operands(operands); err != nil {
			errs = append(errs, err)
		}
	}
	if set.Report(p.stderr, errs) {
		return getopt.Status(errs)
	}
	log := pmlog.New(p.stderr, p.program(), c.level())
	if err := d.Agent.Err(); err != nil {
		log.Log(ctx, pmlog.LevelCritical, err.Error())
		return 1
	}
	if c.print != "" || c.install != "" {
		if err := d.export(c, p); err != nil {
			log.Log(ctx, pmlog.LevelCritical, err.Error())
			return 1
		}
		return 0
	}
	if p.own && (c.transport == 0 || c.transport == 'p') && terminal.Is(os.Stdin) {
		log.Log(ctx, pmlog.LevelCritical, "standard input is a terminal: an agent is started by a collector, or with -i, -u or -6; see --help")
		return 1
	}
	file, finish := c.openLog(p)
	defer finish()
	defer c.closeStderr()
	log = pmlog.New(file, p.program(), c.level())
	defer d.Agent.logs.add(loglimit.New(log))()
	if p.own {
		slog.SetDefault(log)
	}
	if c.helpFile == "" && (isFile(d.HelpPath) || isFile(d.HelpPath+".dir")) {
		c.helpFile = d.HelpPath
	}
	if c.helpFile != "" {
		d.readHelp(c.helpFile, log)
	}
	stop, err := d.start(ctx)
	if err == nil {
		err = d.serve(ctx, c, p, log)
		stop()
	}
	if err != nil {
		log.Log(ctx, pmlog.LevelCritical, err.Error())
		if _, ok := errors.AsType[startError](err); ok {
			c.reportStart(p, err)
		}
		if errors.Is(err, io.EOF) { // the collector has gone already, which is no failure
			return 0
		}
		return 1
	}
	return 0
}

// A startError is the reason why an agent does not start to serve.
type startError struct{ error }

func (e startError) Unwrap() error { return e.error }

// reportStart says on standard error, as it was before the log replaced it, why the agent has not
// started. Without a log file the reason is there already.
func (c *command) reportStart(p process, err error) {
	if c.stderr != nil {
		fmt.Fprintf(c.stderr, "%s: %v\n", p.program(), err)
	}
}

// closeStderr closes the duplicate that openLog has kept, because another process may wait for the
// end of standard error.
func (c *command) closeStderr() {
	if kept, ok := c.stderr.(io.Closer); ok && c.kept {
		kept.Close()
	}
	c.stderr = nil
}

// start runs the function Start of the Daemon. stop ends its work.
func (d *Daemon) start(ctx context.Context) (stop func(), err error) {
	if d.Start == nil {
		return func() {}, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	wait, err := d.Start(ctx)
	if err != nil {
		return cancel, startError{err}
	}
	if wait == nil {
		return cancel, nil
	}
	return func() { cancel(); wait() }, nil
}

// openLog starts the log, which is standard error if -l says so or the file cannot be written. If
// neither -l nor the Daemon names a log, standard error gets only the messages, without the first
// and last lines of a log.
func (c *command) openLog(p process) (log io.Writer, finish func() error) {
	switch {
	case c.log == "" && !c.logGiven:
		return p.stderr, func() error { return nil }
	case c.log == "-":
		return startLog(p)
	}
	f, err := daemonfile.OpenLog(c.log, p.program())
	if err != nil {
		// The text of pmOpenLog(3), because users search logs for it.
		io.WriteString(p.stderr, p.program()+": cannot open log \""+c.log+"\" for writing : "+pdu.FromError(err).Error()+"\n")
		return startLog(p)
	}
	c.stderr = p.stderr
	if p.own {
		c.stderr, c.kept = daemonfile.KeepStderr(), true
		redirect := f.RedirectStderr // not standard output, which is the connection
		if c.transport != 0 && c.transport != 'p' {
			redirect = f.Redirect
		}
		if err := redirect(); err != nil {
			io.WriteString(p.stderr, p.program()+": standard error stays apart from the log: "+err.Error()+"\n")
		}
	}
	return f, f.Finish
}

// startLog starts a log on standard error.
func startLog(p process) (log io.Writer, finish func() error) {
	daemonfile.StartLog(p.stderr, p.program()) // an error could only be reported there
	return p.stderr, func() error { return daemonfile.FinishLog(p.stderr) }
}

// serve connects, gives up privileges, and serves.
func (d *Daemon) serve(ctx context.Context, c *command, p process, log *slog.Logger) error {
	ln, err := c.listen(ctx, log)
	if err != nil {
		return startError{err}
	}
	if err := d.switchUser(c, p, log); err != nil {
		if ln != nil {
			ln.Close()
		}
		return startError{err}
	}
	c.closeStderr()
	h := d.Handler
	if h == nil {
		h = d.Agent
	}
	var rw io.ReadWriteCloser
	switch {
	case ln != nil && c.stay:
		err = ServeListener(ctx, h, ln)
	case ln != nil:
		rw, err = accept(ctx, ln)
	case p.own:
		rw, err = privateStdio()
	default:
		rw = duplex{p.stdin, p.stdout}
	}
	if err == nil && rw != nil {
		err = Serve(ctx, h, rw)
		rw.Close()
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// switchUser changes to the user that the command line or the Daemon names, or to defaultUser.
func (d *Daemon) switchUser(c *command, p process, log *slog.Logger) error {
	switch {
	case c.user != "":
		return account.Become(c.user)
	case !p.own || os.Geteuid() != 0:
		return nil
	case d.User != "":
		return account.Become(d.User)
	}
	if !account.Exists(defaultUser) {
		log.Warn("stays root: there is no user " + defaultUser)
		return nil
	}
	return account.Become(defaultUser)
}

// defaultUser is the default of PCP_USER.
const defaultUser = "pcp"

// A duplex is two streams as one.
type duplex struct {
	io.Reader
	io.Writer
}

// Close closes both.
func (d duplex) Close() error {
	var errs [2]error
	if c, ok := d.Reader.(io.Closer); ok {
		errs[0] = c.Close()
	}
	if c, ok := d.Writer.(io.Closer); ok {
		errs[1] = c.Close()
	}
	return errors.Join(errs[:]...)
}

// A command is a command line that has been read.
type command struct {
	pdus      bool // -D pdu
	log       string
	logGiven  bool
	user      string
	helpFile  string
	transport byte   // 'p', 'i', '6', 'u'; 0 if not given
	address   string // of a socket
	stay      bool   // serve the next collector on it when one has gone
	print     string
	install   string
	stderr    io.Writer // standard error until the agent has started, if the log is a file
	kept      bool      // stderr is a duplicate, to be closed
}

// level returns the lowest level of the lines in the log.
func (c *command) level() slog.Level {
	if c.pdus {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// command returns the option table, and the command that parsing the options fills.
func (d *Daemon) command(p process) (*command, *getopt.Set) {
	c := &command{log: d.Log}
	set := &getopt.Set{Program: p.program(), Synopsis: "[options]", InOrder: p.own && os.Getenv("POSIXLY_CORRECT") != ""}
	set.Options = append(append(d.generalOptions(c), c.transportOptions(d.PipeOnly)...), c.exportOptions()...)
	return c, set
}
