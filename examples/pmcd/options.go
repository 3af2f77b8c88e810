package main

import (
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pmcdlog"
	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pmda/collector"
)

// options are the command line and the environment.
type options struct {
	environment
	installed  bool   // as a PCP's pmcd, whose defaults hold
	config     string // -c; empty for the embedded agents alone
	foreground bool
	managed    bool // in the foreground, but else as in the background
	hostname   string
	interfaces []string
	log        string
	maxPDU     int
	maxContext int
	maxMetrics int
	names      string
	unique     bool
	ports      []string
	hello      time.Duration
	socket     string
	timeout    time.Duration
	verify     bool
	noRestart  bool
	reqAuth    bool
	debugTrace collector.Trace // of -D pdu
	trace      collector.Trace
	report     string // -x
	remoteCert bool
	user       string
	web        string // -w
	webTLS     bool
	webLogin   bool
}

// addPorts adds a comma list of port numbers.
func (o *options) addPorts(list, what string) error {
	for p := range strings.SplitSeq(list, ",") {
		n, err := number(p)
		if err != nil || n < 0 || n > math.MaxUint16 {
			return fmt.Errorf("%s requires a positive numeric argument (%s)", what, list)
		}
		o.ports = append(o.ports, strconv.Itoa(n))
	}
	return nil
}

// number is an integer as C reads it, in any base, after blanks.
func number(v string) (int, error) {
	n, err := strconv.ParseInt(strings.TrimLeft(v, " \t"), 0, 32)
	return int(n), err
}

func seconds(v, what string) (time.Duration, error) {
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s requires a positive numeric argument", what)
	}
	return time.Duration(n) * time.Second, nil
}

// set is the table of options.
func (o *options) set() *getopt.Set {
	text := func(p *string) func(string) error {
		return func(v string) error { *p = v; return nil }
	}
	yes := func(p *bool) func(string) error {
		return func(string) error { *p = true; return nil }
	}
	// byDefault is the end of the help of an option, which tells of its default.
	byDefault := func(installed, elsewhere string) string {
		if o.installed {
			return installed
		}
		return elsewhere
	}
	return &getopt.Set{Program: "pmcd", Synopsis: "[options]", InOrder: true, Options: []getopt.Option{
		{Heading: "General options"},
		{Short: 'n', Long: "namespace", Arg: "FILE", Help: "use an alternative PMNS", Set: o.setNames},
		{Short: 'N', Long: "uniqnames", Arg: "FILE", Help: "like -n but only one name allowed for each PMID",
			Set: func(v string) error { o.unique = true; return o.setNames(v) }},
		{Short: 'D', Long: "debug", Arg: "DBG", Set: o.setDebug},
		{Short: '?', Long: "help", Help: "show this usage message and exit", Set: getopt.Usage},
		{Long: "version", Exact: true, Help: byDefault("", "show the version of this program and exit"), Set: getopt.Version},
		{Heading: "Service options"},
		{Short: 'A', Help: "disable service advertisement" + byDefault("", " (there is none)"), Set: func(string) error { return nil }},
		{Short: 'f', Long: "foreground", Help: "run in the foreground" + byDefault("", ", as always without -c"), Set: yes(&o.foreground)},
		{Short: 'F', Long: "managed", Help: "run in the foreground, with service notification", Set: yes(&o.managed)},
		{Short: 'H', Long: "hostname", Arg: "HOST", Help: "set the hostname to be used for pmcd.hostname metric", Set: text(&o.hostname)},
		{Short: 'U', Long: "username", Arg: "USER", Help: "in daemon mode, run as named user" + byDefault(" [default pcp]", " [default: no change]"), Set: text(&o.user)},
		{Heading: "Configuration options"},
		{Short: 'c', Long: "config", Arg: "PATH", Help: "path to configuration file" + byDefault("", " [default: embedded agents]"), Set: text(&o.config)},
		{Short: 'C', Long: "maxctx", Arg: "NCTX", Help: "maximum number of contexts of a client [default 64]",
			Set: func(v string) (err error) { o.maxContext, err = positive(v, "-C"); return err }},
		{Short: 'L', Long: "maxbytes", Arg: "BYTES", Help: "maximum size for PDUs from clients [default 65536]",
			Set: func(v string) (err error) { o.maxPDU, err = positive(v, "-L"); return err }},
		{Short: 'M', Long: "maxmetric", Arg: "N", Help: "maximum number of metrics of a fetch [default 32768]",
			Set: func(v string) (err error) { o.maxMetrics, err = positive(v, "-M"); return err }},
		{Short: 'q', Arg: "TIME", Help: "PMDA initial negotiation timeout (seconds) [default 3]", Set: o.setHello},
		{Short: 't', Arg: "TIME", Help: "PMDA response timeout (seconds) [default 5]", Set: o.setTimeout},
		{Short: 'v', Long: "verify", Help: "check validity of pmcd configuration, then exit", Set: yes(&o.verify)},
		{Heading: "Connection options"},
		{Short: 'i', Long: "interface", Arg: "ADDR", Help: "accept connections on this IP address",
			Set: func(v string) error { o.interfaces = append(o.interfaces, v); return nil }},
		{Short: 'p', Long: "port", Arg: "N", Help: "accept connections on this port", Set: func(v string) error { return o.addPorts(v, "-p") }},
		{Short: 's', Long: "socket", Arg: "PATH", Help: byDefault("Unix domain socket file", "Unix socket file") + " [default $PCP_RUN_DIR/pmcd.socket]", Set: text(&o.socket)},
		{Short: 'Q', Long: "remotecert", Help: "require remote clients to provide a certificate", Set: yes(&o.remoteCert)},
		{Short: 'S', Long: "reqauth", Help: "require all clients to authenticate", Set: yes(&o.reqAuth)},
		{Short: 'w', Long: "web", Arg: "ADDR", Help: byDefault("", "page of the metrics, as localhost:44323"), Set: o.setWeb},
		{Long: "web-tls", Exact: true, Help: byDefault("", "with -w: TLS, with the certificate of tls.conf"), Set: yes(&o.webTLS)},
		{Long: "web-login", Exact: true, Help: byDefault("", "with -w: show the page to users who log in"), Set: yes(&o.webLogin)},
		{Heading: "Diagnostic options"},
		{Short: 'T', Long: "trace", Arg: "FLAG", Help: "Event trace control", Set: o.setTrace},
		{Short: 'l', Long: "log", Arg: "PATH", Help: "redirect diagnostics and trace output", Set: text(&o.log)},
		{Short: 'x', Arg: "PATH", Help: "fatal messages at " + byDefault("startup sent to file [default /dev/tty]", "start sent to file [default stderr]"), Set: text(&o.report)},
	}}
}

// logFile returns where the options have the log written.
func (o *options) logFile() *pmcdlog.Log {
	return &pmcdlog.Log{Path: o.log, Report: o.report, Embedded: o.config == "", Installed: o.installed}
}

// setDebug accepts the debug options of C pmcd. Option pdu logs PDUs and debug messages; the others
// have no effect.
func (o *options) setDebug(v string) error {
	names, ok := pmlog.ParseDebug(v)
	if !ok {
		return fmt.Errorf("unrecognized debug options specification (%s)", v)
	}
	if pmlog.DebugOn(names)["pdu"] {
		o.debugTrace = collector.TracePDUs | collector.TraceUnbuffered
	}
	return nil
}

// setWeb takes an address with a port.
func (o *options) setWeb(v string) error {
	if _, port, err := net.SplitHostPort(v); err != nil || port == "" {
		return fmt.Errorf("bad -w %q: want an address and a port, such as localhost:44323", v)
	}
	o.web = v
	return nil
}

// setNames takes no empty name, since that of PCP's file is not meant.
func (o *options) setNames(v string) error {
	if o.names = v; v == "" {
		return errors.New("cannot load the name space: no file named")
	}
	return nil
}

// positive is the value of an option that takes a number in any base of C.
func positive(v, option string) (int, error) {
	n, err := number(v)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%s requires a positive value", option)
	}
	return n, nil
}

func (o *options) setHello(v string) (err error) {
	if o.hello, err = seconds(v, "-q"); err == nil && o.hello == 0 {
		err = fmt.Errorf("-q requires a positive numeric argument")
	}
	return err
}

// setTimeout takes 0 for no limit.
func (o *options) setTimeout(v string) (err error) {
	if o.timeout, err = seconds(v, "-t"); err == nil && o.timeout == 0 {
		o.timeout = -1
	}
	return err
}

func (o *options) setTrace(v string) error {
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("-T requires a positive numeric argument")
	}
	o.trace = collector.Trace(n)
	return nil
}
