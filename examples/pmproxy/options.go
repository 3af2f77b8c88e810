package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/internal/getopt"
)

// options are the command line.
type options struct {
	interfaces, ports []string
	socket, log       string
	allow, origins    []string
	archives          []string // name=path
	seconds           int      // -T
	push              pushOptions
}

func (o *options) set() *getopt.Set {
	text := func(p *string) func(string) error { return func(v string) error { *p = v; return nil } }
	add := func(p *[]string) func(string) error { return func(v string) error { *p = append(*p, v); return nil } }
	ignore := func(string) error { return nil }
	set := &getopt.Set{Program: "pmproxy", Synopsis: "[options]", Options: []getopt.Option{
		{Heading: "General options"},
		{Short: '?', Long: "help", Help: "show this usage message and exit", Set: getopt.Usage},
		{Heading: "Service options"},
		{Short: 'A', Help: "disable service advertisement (there is none)", Set: ignore},
		{Short: 'f', Long: "foreground", Help: "run in the foreground, as always", Set: ignore},
		{Short: 't', Long: "timeseries", Help: "serve the REST API, as always", Set: ignore},
		{Heading: "Connection options"},
		{Short: 'i', Long: "interface", Arg: "ADDR", Help: "accept connections on this IP address [default localhost]", Set: add(&o.interfaces)},
		{Short: 'p', Long: "port", Arg: "PORT", Help: "accept connections on this port [default " + defaultPort + "]", Set: o.addPorts},
		{Short: 's', Long: "socket", Arg: "PATH", Help: "Unix domain socket file [default none]", Set: text(&o.socket)},
		{Heading: "Gateway options"},
		{Long: "allow", Arg: "HOST", Help: "let clients name this collector, as host, host:port, host:* or *.domain", Set: add(&o.allow)},
		{Long: "origin", Arg: "URL", Help: "let pages of this origin log in and store", Set: add(&o.origins)},
		{Long: "archive", Arg: "NAME=PATH", Help: "serve an archive to clients that name it as their hostspec", Set: o.addArchive},
		{Heading: "Diagnostic options"},
		{Short: 'T', Arg: "TIME", Help: "terminate after an elapsed time interval, in seconds", Set: o.setSeconds},
		{Short: 'l', Long: "log", Arg: "PATH", Help: "redirect diagnostics and trace output", Set: text(&o.log)},
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

func (o *options) setSeconds(v string) (err error) {
	if o.seconds, err = strconv.Atoi(v); err != nil || o.seconds <= 0 {
		return fmt.Errorf("-T requires a positive numeric argument")
	}
	return nil
}
