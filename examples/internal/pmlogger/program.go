package pmlogger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/examples/internal/hint"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/examples/internal/pcptool/pmlc"
	"github.com/pcp-go/pcp/internal/daemonfile"
	"github.com/pcp-go/pcp/internal/hostspec"
	"github.com/pcp-go/pcp/internal/logconf"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pmapi"
)

// A program is one run of pmlogger.
type program struct {
	opts   *options
	args   []string // of the process, with its name
	conf   *pcpconf.Conf
	w      io.Writer // the log
	log    *slog.Logger
	start  *start // until records are made, of a program on a terminal
	hint   string // advice on the error that ends the program
	events events

	src       *pmapi.Context
	hostName  string         // of the collector
	zone      *time.Location // of -T
	localHost string
	logger    atomic.Pointer[logger.Logger]
	loggers   func(ctx context.Context, begin func(*logger.Logger) error) error // runs them, and calls begin before each
	base      string                                                            // of the archive
	begun     time.Time

	stop    func(cause error) // ends the logger
	reexec  bool              // the program starts itself again then
	pidFile *daemonfile.File
	access  *pmlc.Access
	serving []net.Listener
	port    int // of TCP, 0 without
}

// errFailed is an error that was already reported.
var errFailed = errors.New("reported")

// Main runs pmlogger and returns its exit status. The first argument is the name of the program.
func Main(args []string) (status int) {
	o, err := parseOptions(args[1:])
	if err != nil {
		return o.cmd.Report(err)
	}
	conf, err := pcpconf.Load("")
	if err != nil {
		return o.cmd.Report(err)
	}
	p := &program{opts: o, args: args, conf: conf, w: os.Stderr, log: pmlog.New(os.Stderr, programName, slog.LevelInfo)}
	p.localHost, _ = os.Hostname() // none is none
	p.events = events{w: p.w, report: o.report, ending: p.ending, skipped: p.hintSkipped}
	if o.isDaemon() {
		if err := p.becomeDaemon(); err != nil {
			return 1
		}
	}
	if !o.check && !p.again() {
		p.openLog()
	}
	err = p.run()
	if err != nil && err != errFailed {
		p.complain(err)
	}
	if p.reexec && err == nil {
		err = p.execute()
	}
	if err != nil && p.start != nil {
		p.start.fail()
	}
	if err != nil {
		p.terminal().Hint(p.hint)
	}
	p.started()
	p.removePID()
	if !o.check && !p.again() {
		fmt.Fprintf(p.w, "\nLog finished %s\n", ctime(time.Now()))
	}
	if err != nil {
		return 1
	}
	return 0
}

// complain writes an error to the log and keeps its advice.
func (p *program) complain(err error) {
	if exit, ok := errors.AsType[*pcptool.ExitError](err); ok {
		io.WriteString(p.w, exit.Message)
		if why := hint.TLS(err); why != "" { // which no message of C's has
			p.log.Error(why)
			return
		}
		p.hint = exit.Hint()
		return
	}
	fmt.Fprintf(p.w, "%v\n", err)
	p.hint = hint.Of(err)
}

// terminal returns a command for hints. Until the program records, its Stderr is the terminal on
// which the program was started, if there is one. Later it is the log.
func (p *program) terminal() *pcptool.Command {
	c := *p.opts.cmd
	if p.start != nil {
		c.Stderr = p.start.stderr
	}
	return &c
}

// hintSkipped prints, on a terminal, names similar to that of a metric that does not exist.
func (p *program) hintSkipped(e logger.MetricSkipped) {
	c := p.terminal()
	if advice := c.NameHint(context.Background(), p.src, e.Metric, e.Err); advice != "" {
		c.Hint(fmt.Sprintf("%s, line %d: %s is not recorded; %s", e.File, e.Line, e.Metric, advice))
	}
}

// ending writes the reason why the logger ends.
func (p *program) ending(reason string) {
	what := "exiting"
	if p.reexec {
		what = "reexec"
	}
	p.log.Info(fmt.Sprintf("%s: %s, %s", programName, reason, what))
}

// run does the whole work of the program, from the first line in the log on.
func (p *program) run() error {
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	p.stop = stop
	p.log.Info("Start")
	if err := p.connect(ctx); err != nil {
		return err
	}
	defer p.src.Close()
	path, err := p.findConfig()
	if err != nil {
		return err
	}
	c, err := p.readConfig(path)
	if err != nil {
		return err
	}
	if p.opts.check {
		if err := p.resolve(ctx, c); !errors.Is(err, logger.ErrNothing) {
			return err
		}
		return nil
	}
	if warning := mistakenURL(p.opts.base); warning != "" {
		p.log.Warn(warning)
		if p.start != nil { // else the log is what the user sees
			p.terminal().Hint(warning)
		}
	}
	defer p.closeListeners()
	prepare := p.prepare
	if p.opts.daily.on {
		prepare = p.prepareDaily
	}
	if err := prepare(ctx, c); err != nil {
		return err
	}
	if !p.opts.daily.on { // which has more to do before it records
		p.started()
	}
	return p.record(ctx)
}

// checkHint is the advice for -C without a collector.
const checkHint = "-C also looks up the metrics: name a collector with -h, or use -o for the agents in this program"

// connect opens the source.
func (p *program) connect(ctx context.Context) error {
	o := p.opts
	if o.names != "" {
		if err := o.namespace(o.names); err != nil {
			fmt.Fprint(p.w, err)
			return errFailed
		}
	}
	kind, name := pmapi.SourceHost, cmp.Or(o.host, "local:")
	if o.local {
		kind, name = pmapi.SourceLocal, "@"
	}
	var err error
	if p.src, err = o.cmd.OpenSource(ctx, kind, name); err != nil {
		if exit, ok := errors.AsType[*pcptool.ExitError](err); ok && o.check && kind == pmapi.SourceHost {
			return pcptool.WithHint(err, strings.TrimPrefix(exit.Hint()+"; "+checkHint, "; "))
		}
		return err
	}
	if o.control < 0 && !o.local {
		pcptool.Identify(ctx, p.src, p.args)
	}
	p.hostName = terminal.EscapeName(p.src.HostName(ctx))
	p.zone = time.Local
	if o.finish != "" && !o.zone {
		if zone, err := pcptool.HostZone(ctx, p.src); err == nil {
			p.zone = zone
		}
	}
	return nil
}

// source returns the name of the source in the log and in the status.
func (p *program) source() string {
	if p.opts.local {
		return "local context"
	}
	return hostspec.Redact(cmp.Or(p.opts.host, "local:"))
}

// loggerOptions returns the options of the logger that the command line sets.
func (p *program) loggerOptions(c *config) (logger.Options, error) {
	o := p.opts
	lo := logger.Options{
		Config: c.text, Interval: cmp.Or(o.defaultInterval(), -1), Linger: o.linger || o.primary || len(c.Requests) > 0, Report: p.events.print,
		EndOnChange: o.isRestarted(),
		EndBytes:    o.end.bytes, EndRecords: o.end.records, EndAfter: o.end.after,
		Writer: archive.WriterOptions{
			Label:      archive.Label{Version: o.version, Host: o.labelHost},
			VolumeSize: o.volume.bytes, VolumeRecords: o.volume.records, VolumeTime: o.volume.after,
			Direct: true, // recording is all that the program does
		},
	}
	if lo.Writer.Label.Version == 0 {
		lo.Writer.Label.Version = 2
		if p.conf.Get("PCP_ARCHIVE_VERSION") == "3" {
			lo.Writer.Label.Version = 3
		}
	}
	return lo, o.setEnd(&lo, p.zone)
}

// setEnd sets the end of the logger to that of -T: a time, or a duration after the first record.
func (o *options) setEnd(lo *logger.Options, zone *time.Location) error {
	if o.finish == "" {
		return nil
	}
	now := time.Now()
	w, err := pmapi.WindowSpec{Finish: o.finish, Location: zone}.Window(now, time.Time{})
	if err != nil {
		return hint.With(fmt.Errorf("%s: illegal -T argument\n%w", programName, pcptool.SyntaxError(err)), "-T: "+hint.Time)
	}
	after := w.End.Sub(now)
	switch {
	case strings.HasPrefix(o.finish, "@") || after <= 0:
		lo.EndTime = w.End
	case lo.EndAfter == 0 || after < lo.EndAfter:
		lo.EndAfter = after
	}
	return nil
}

// resolve looks up the metrics of the configuration and reports its errors.
func (p *program) resolve(ctx context.Context, c *config) error {
	lo, _ := p.loggerOptions(c)
	tasks, err := lo.Check(ctx, p.src)
	if _, ok := errors.AsType[*logconf.SyntaxError](err); ok || err == nil {
		err = p.parsed(c)
	}
	if err == nil && len(tasks) == 0 && !lo.Linger {
		err = logger.ErrNothing
	}
	return err
}

// parsed reports that the configuration is valid, or its errors.
func (p *program) parsed(c *config) error {
	if c.err != nil {
		c.printError(p.w)
		p.hint = c.hint()
		return errFailed
	}
	var err error
	if p.access, err = pmlc.NewAccess(c.Rules); err != nil {
		p.printAccessErrors(err)
		return errFailed
	}
	fmt.Fprintln(p.w, "Config parsed")
	return nil
}

// prepare makes the logger and opens its ports for pmlc(1).
func (p *program) prepare(ctx context.Context, c *config) error {
	lo, endErr := p.loggerOptions(c)
	var notes string
	var baseErr error
	if lo.Push = p.opts.pushOptions(); lo.Push == nil {
		lo.Base, notes, baseErr = chooseBase(p.opts.base, time.Now())
	}
	var err error
	var l *logger.Logger
	if c.err != nil || endErr != nil || baseErr != nil {
		err = p.resolve(ctx, c)
	} else {
		lo.Host, lo.Port = fullName(ctx, p.localHost), p.listen(ctx)
		l, err = lo.New(ctx, p.src)
		if err == nil || errors.Is(err, logger.ErrNothing) {
			err = cmp.Or(p.parsed(c), err)
		}
	}
	if err != nil && !errors.Is(err, logger.ErrNothing) {
		return err
	}
	p.printStarting()
	if err != nil {
		return p.reportNothing()
	}
	io.WriteString(p.w, notes)
	if baseErr != nil {
		fmt.Fprintf(p.w, "__pmLogCreate(%s, %s, ...): %v\n", p.hostName, lo.Base, baseErr)
		p.hint = baseHint(lo.Base, baseErr)
		return errFailed
	}
	if endErr != nil {
		return endErr
	}
	p.base = l.Base()
	fmt.Fprintf(p.w, "Archive basename: %s\n", p.base)
	p.loggers = func(ctx context.Context, begin func(*logger.Logger) error) error {
		if err := begin(l); err != nil {
			return err
		}
		return l.Run(ctx)
	}
	return nil
}

// printStarting prints what is recorded.
func (p *program) printStarting() {
	kind := ""
	if p.opts.primary {
		kind = "primary "
	}
	fmt.Fprintf(p.w, "Starting %slogger for host \"%s\" via \"%s\"\n", kind, p.hostName, p.source())
}

// reportNothing reports that no metrics are recorded.
func (p *program) reportNothing() error {
	fmt.Fprintln(p.w, "Nothing to log, and not the primary logger instance ... good-bye")
	return errFailed
}

// lookupTimeout limits how long the name server can delay the start.
const lookupTimeout = time.Second

// fullName returns the name of the host's address, or host if the address has no name.
func fullName(ctx context.Context, host string) string {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil || len(addrs) == 0 {
		return host
	}
	return addressName(ctx, addrs[0], host)
}

// addressName returns the first name of an address, or without if it has no name.
func addressName(ctx context.Context, addr, without string) string {
	if names, err := net.DefaultResolver.LookupAddr(ctx, addr); err == nil && len(names) > 0 {
		return strings.TrimSuffix(names[0], ".")
	}
	return without
}

// printAccessErrors prints the errors of the access section.
func (p *program) printAccessErrors(err error) {
	for _, err := range joined(err) {
		rule, ok := errors.AsType[*pmlc.RuleError](err)
		if !ok {
			fmt.Fprintf(p.w, "%v\n", err)
			continue
		}
		message := fmt.Sprintf("%s: %v", rule.Host, rule.Err)
		if rule.Warning {
			message = fmt.Sprintf("__pmGetAddrInfo(%s), Unknown host", rule.Host)
		} else if other, ok := strings.CutPrefix(rule.Err.Error(), "contradicts an earlier rule for "); ok {
			message = fmt.Sprintf("Permission clash for %s with earlier statement for %s", other, other)
		}
		p.log.Error(message)
		fmt.Fprintf(p.w, "error was on line %d\n", rule.Line)
		return
	}
}

// joined returns the errors of an errors.Join.
func joined(err error) []error {
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		return j.Unwrap()
	}
	return []error{err}
}
