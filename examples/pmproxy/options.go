package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/pmapi"
)

// options are the command line.
type options struct {
	interfaces, ports []string
	socket, log       string
	config            string // -c
	foreground        bool   // -f
	managed           bool   // -F
	proxyOnly         bool   // -d
	user              string // -U
	keyServer         bool   // one is named: -h or -r
	fatal             string // -x
	allow, origins    []string
	allowStore        bool
	tlsOnly           bool
	archives          []string      // name=path
	proxies           networks      // reverse proxies in front of this program
	life              time.Duration // -T
	push              pushOptions
}

func (o *options) set() *getopt.Set {
	text := func(p *string) func(string) error { return func(v string) error { *p = v; return nil } }
	add := func(p *[]string) func(string) error { return func(v string) error { *p = append(*p, v); return nil } }
	yes := func(p *bool) func(string) error { return func(string) error { *p = true; return nil } }
	ignore := func(string) error { return nil }
	rest := func(set func(string) error) func(string) error { // an option that implies -t
		return func(v string) error { o.proxyOnly = false; return set(v) }
	}
	set := &getopt.Set{Program: "pmproxy", Synopsis: "[options]", Options: []getopt.Option{
		{Heading: "General options"},
		{Short: '?', Long: "help", Help: "show this usage message and exit", Set: getopt.Usage},
		{Long: "version", Exact: true, Help: "show the version of this program and exit", Set: getopt.Version},
		{Heading: "Service options"},
		{Short: 'A', Help: "disable service advertisement (there is none)", Set: ignore},
		{Short: 'd', Long: "deprecated", Help: "no REST APIs: pass PCP's clients on to collectors alone", Set: yes(&o.proxyOnly)},
		{Short: 'f', Long: "foreground", Help: "run in the foreground, as always, and as the user who has started it", Set: yes(&o.foreground)},
		{Short: 'F', Long: "systemd", Help: "run in the foreground, with service notification and a pid file", Set: yes(&o.managed)},
		{Short: 't', Long: "timeseries", Help: "serve the REST APIs, as without -d", Set: rest(ignore)},
		{Short: 'U', Long: "username", Arg: "USER", Help: "without -f, run as named user [default: no change]", Set: text(&o.user)},
		{Heading: "Configuration options"},
		{Short: 'c', Long: "config", Arg: "PATH", Help: "path to configuration file, of which the section pmproxy is read (implies --timeseries)", Set: rest(text(&o.config))},
		{Short: 'L', Arg: "BYTES", Help: "maximum size for PDUs from clients, none of which are kept here", Set: func(v string) error { return positive(v, "-L") }},
		{Heading: "Connection options"},
		{Short: 'i', Long: "interface", Arg: "ADDR", Help: "accept connections on this IP address [default localhost]", Set: add(&o.interfaces)},
		{Short: 'p', Long: "port", Arg: "PORT", Help: "accept connections on this port [default " + defaultPort + "]", Set: o.addPorts},
		{Short: 's', Long: "socket", Arg: "PATH", Help: "Unix domain socket file [default none] (implies --timeseries)", Set: rest(text(&o.socket))},
		{Short: 'r', Long: "redisport", Arg: "PORT", Help: "port of a key server, which is not used (implies --timeseries)",
			Set: rest(func(v string) error { o.keyServer = true; return positive(v, "-r") })},
		{Short: 'h', Long: "redishost", Arg: "HOST", Help: "host of a key server, which is not used (implies --timeseries)", Set: rest(func(string) error { o.keyServer = true; return nil })},
		{Heading: "Gateway options"},
		{Long: "allow", Arg: "HOST", Help: "let clients name this collector, as host, host:port, host:* or *.domain", Set: o.addAllowed},
		{Long: "origin", Arg: "URL", Help: "let pages of this origin read, log in and store", Set: o.addOrigin},
		{Long: "allow-store", Help: "let clients store without a login; not safe if browsers can reach the gateway", Set: yes(&o.allowStore)},
		{Long: "tls-only", Help: "refuse HTTP without TLS, except on the unix socket", Set: yes(&o.tlsOnly)},
		{Long: "trusted-proxy", Arg: "ADDR[/BITS]", Help: "believe the header X-Forwarded-For of a reverse proxy at this address", Set: o.proxies.add},
		{Long: "archive", Arg: "NAME=PATH", Help: "serve an archive to clients that name it as their hostspec", Set: o.addArchive},
		{Heading: "Diagnostic options"},
		{Short: 'T', Arg: "TIME", Help: "terminate after an elapsed time interval", Set: o.setLife},
		{Short: 'l', Long: "log", Arg: "PATH", Help: "redirect diagnostics and trace output", Set: text(&o.log)},
		{Short: 'x', Arg: "PATH", Help: "fatal messages at startup sent to file [default standard error]", Set: text(&o.fatal)},
	}}
	set.Options = append(set.Options, o.push.options()...)
	return set
}

func (o *options) addPorts(list string) error {
	for p := range strings.SplitSeq(list, ",") {
		if _, err := strconv.ParseUint(p, 10, 16); err != nil {
			return fmt.Errorf("-p requires a positive numeric argument (%s)", list)
		}
		o.ports = append(o.ports, p)
	}
	return nil
}

func (o *options) addArchive(v string) error {
	if name, path, ok := strings.Cut(v, "="); !ok || name == "" || path == "" {
		return fmt.Errorf("--archive requires NAME=PATH, not %q", v)
	}
	o.archives = append(o.archives, v)
	return nil
}

// addAllowed adds a collector that clients may name.
func (o *options) addAllowed(v string) error {
	if v == "" || strings.Contains(v, "/") {
		return fmt.Errorf("bad --allow %q: want host, host:port, host:* or *.domain", v)
	}
	o.allow = append(o.allow, v)
	return nil
}

// addOrigin adds an origin of web pages.
func (o *options) addOrigin(v string) error {
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Scheme+"://"+u.Host != v {
		return fmt.Errorf("bad --origin %q: want a scheme and a host, such as https://grafana.example.org", v)
	}
	o.origins = append(o.origins, v)
	return nil
}

func (o *options) setLife(v string) (err error) {
	if o.life, err = pmapi.ParseInterval(v); err != nil || o.life <= 0 {
		//lint:ignore ST1005 pmproxy's text, which ends so
		return errors.New("bad -T interval format:")
	}
	return nil
}

// positive is an error if the argument of an option is not a positive number, as C reads it.
func positive(v, option string) error {
	if n, err := strconv.ParseInt(strings.TrimLeft(v, " \t"), 0, 32); err != nil || n <= 0 {
		return fmt.Errorf("%s requires a positive value", option)
	}
	return nil
}

// complete checks what the options are together, and adds what the environment says.
func (o *options) complete() error {
	if o.foreground && o.managed {
		return errors.New("at most one of -f and -F allowed")
	}
	if ports := os.Getenv("PMPROXY_PORT"); ports != "" {
		if err := o.addPorts(ports); err != nil {
			return fmt.Errorf("PMPROXY_PORT: %w", err)
		}
	}
	return o.push.complete()
}
