package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/pcp-go/pcp/internal/daemonfile"
	"github.com/pcp-go/pcp/internal/hint"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pdu"
)

// A requestPort is a place where the collector was to listen.
type requestPort struct {
	network      string // as net.Listen has it
	name         string // of the interface as the user gave it; the path of a unix socket
	port         string // the number, empty for a unix socket
	net.Listener        // nil if it could not be opened
}

// listen opens the ports and the socket. Without a configuration file all of them
// have to open, so that nobody uses another collector by mistake; with one it is
// enough if any does, as for pmcd. The errors are those of the others.
func (o *options) listen(conf *pcpconf.Conf) (ports []requestPort, errs []error) {
	for _, p := range o.requestPorts() {
		var l net.Listener
		err := error(&net.DNSError{Err: "no address", IsNotFound: true}) // not all addresses, as net.Listen has it
		if p.name != "" {
			l, err = net.Listen(p.network, p.address())
		}
		if n := o.backlog(); err == nil && n > 0 {
			setBacklog(l, n)
		}
		p.Listener = l
		ports = append(ports, p)
		switch {
		case err == nil:
		case p.network == "tcp6" && (errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT)):
			// The host has no IPv6.
		case p.network == "tcp6" && len(errs) > 0:
			// The error for IPv4 is the same.
		default:
			if !o.installed {
				err = hint.Listen(p.address(), err, "pmcd", "-p")
			} else {
				err = &portError{p, err}
			}
			errs = append(errs, err)
		}
	}
	p, err := o.listenUnix(conf, ports)
	if err != nil && o.installed {
		err = &portError{p, err}
	}
	if err != nil {
		errs = append(errs, err)
	}
	if p.name != "" {
		ports = append(ports, p)
	}
	return ports, errs
}

// openPorts is listen for the start. With a configuration file the errors of ports are not fatal
// when others are open: they are logged when there is a log, or in the place of PCP's pmcd printed,
// as that one does.
func (d *daemon) openPorts() ([]requestPort, error) {
	if len(d.activated) > 0 {
		var ports []requestPort
		for _, l := range d.activated {
			ports = append(ports, activatedPort(l))
		}
		return ports, nil
	}
	d.dropDuplicates(d.stderr)
	ports, errs := d.listen(d.conf)
	open := listeners(ports)
	log := pmlog.New(d.stderr, "pmcd", slog.LevelInfo)
	if d.installed {
		for _, err := range errs {
			log.Error(err.Error())
			if errors.Is(err, syscall.EADDRINUSE) {
				log.Error("pmcd may already be running")
			}
		}
	} else if d.config != "" && len(open) > 0 {
		d.cfg.problems = append(d.cfg.problems, errs...)
	}
	if len(errs) == 0 || d.config != "" && len(open) > 0 {
		return ports, nil
	}
	closeAll(open)
	if d.installed {
		log.Error("pmcd: can't open any request ports, exiting")
		return nil, plainError("")
	}
	return nil, errors.Join(errs...)
}

// activatedPort is the port of a socket of the service manager.
func activatedPort(l net.Listener) requestPort {
	a, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return requestPort{network: "unix", name: l.Addr().String(), Listener: l}
	}
	p := requestPort{network: "tcp4", name: a.IP.String(), port: strconv.Itoa(a.Port), Listener: l}
	if a.IP.To4() == nil {
		p.network = "tcp6"
	}
	if a.IP.IsUnspecified() {
		p.name = anyInterface
	}
	return p
}

// dropDuplicates keeps each port number once.
func (o *options) dropDuplicates(stderr io.Writer) {
	var ports []string
	for _, p := range o.ports {
		if slices.Contains(ports, p) && p != "0" {
			pmlog.New(stderr, "pmcd", slog.LevelInfo).Warn(fmt.Sprintf("pmcd: duplicate client request port (%s) will be ignored", p))
			continue
		}
		ports = append(ports, p)
	}
	o.ports = ports
}

// A portError is the error of a port in pmcd's words.
type portError struct {
	port requestPort
	err  error
}

func (e *portError) Unwrap() error { return e.err }

func (e *portError) Error() string {
	if _, unknown := errors.AsType[*net.DNSError](e.err); unknown {
		return fmt.Sprintf("OpenRequestSocket(%s, %s) invalid address", e.port.port, e.port.name)
	}
	return fmt.Sprintf("OpenRequestSocket(%s, %s, %s) __pmBind: %v", cmp.Or(e.port.port, "0"), e.port.name, e.port.family(), pdu.FromError(e.err))
}

// listeners are those of the ports that are open.
func listeners(ports []requestPort) (open []net.Listener) {
	for _, p := range ports {
		if p.Listener != nil {
			open = append(open, p.Listener)
		}
	}
	return open
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		l.Close()
	}
}

// address is what net.Listen takes.
func (p requestPort) address() string {
	host := p.name
	switch {
	case p.name == anyInterface && p.network == "tcp4":
		host = "0.0.0.0"
	case p.name == anyInterface:
		host = "::"
	case p.name == loopback && p.network == "tcp4":
		host = "127.0.0.1"
	case p.name == loopback:
		host = "::1"
	}
	return net.JoinHostPort(host, p.port)
}

// The names of interfaces that pmcd knows.
const (
	anyInterface = "INADDR_ANY"
	loopback     = "INADDR_LOOPBACK"
)

// requestPorts are the ports to listen on.
func (o *options) requestPorts() (all []requestPort) {
	interfaces := o.interfaces
	if len(interfaces) == 0 {
		if interfaces = []string{anyInterface}; o.config == "" {
			interfaces = []string{loopback}
		}
	}
	add := func(network, name, port string) {
		if p := (requestPort{network: network, name: name, port: port}); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	for _, i := range interfaces {
		for _, p := range o.ports {
			if i != anyInterface && i != loopback {
				add("tcp", i, p)
				continue
			}
			add("tcp4", i, p)
			if i != loopback || p != "0" {
				add("tcp6", i, p)
			}
		}
	}
	return all
}

// listenUnix opens the unix socket: that of -s or PMCD_SOCKET, else PCP's own. Without a
// configuration file it is one in a directory of the user instead if PCP's own cannot be opened, or
// if the collector does not serve the default port: clients expect the collector of that port
// there. Its name has the port if another collector of the user serves it. On a system without unix
// sockets the name is empty.
func (o *options) listenUnix(conf *pcpconf.Conf, ports []requestPort) (requestPort, error) {
	listen := func(path string) (requestPort, error) {
		l, err := listenAt(path)
		return requestPort{network: "unix", name: path, Listener: l}, err
	}
	if o.socket != "" {
		return listen(o.socket)
	}
	var p requestPort
	var err error
	if o.config != "" || slices.Contains(o.ports, defaultPort) {
		p, err = listen(filepath.Join(conf.Get("PCP_RUN_DIR"), "pmcd.socket"))
		if err == nil || o.config != "" {
			return p, err
		}
	}
	own := filepath.Join(os.TempDir(), "pmcd-"+strconv.Itoa(os.Getuid())+".socket")
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		own = filepath.Join(dir, "pmcd.socket")
	}
	p, err = listen(own)
	if _, served := errors.AsType[*inUseError](err); served && portNumber(ports) != "" {
		p, err = listen(strings.TrimSuffix(own, ".socket") + "-" + portNumber(ports) + ".socket")
	}
	if errors.Is(err, syscall.EAFNOSUPPORT) || errors.Is(err, errors.ErrUnsupported) {
		return requestPort{}, nil
	}
	return p, err
}

// portNumber is the number of the first port that is open, empty if none is.
func portNumber(ports []requestPort) string {
	for _, l := range listeners(ports) {
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			return strconv.Itoa(a.Port)
		}
	}
	return ""
}

// An inUseError is that another collector serves a unix socket.
type inUseError struct{ path string }

func (e *inUseError) Error() string {
	return fmt.Sprintf("cannot listen on %s: another pmcd serves it: end that or choose a path with -s", e.path)
}

func (e *inUseError) Unwrap() error { return syscall.EADDRINUSE }

// listenAt listens on a unix socket. It replaces a socket that a collector has left
// behind, but not that of one that still serves, nor anything else.
func listenAt(path string) (net.Listener, error) {
	l, _, err := daemonfile.Socket{Path: path, Mode: 0o666}.Listen()
	switch {
	case errors.Is(err, daemonfile.ErrInUse):
		return nil, &inUseError{path}
	case errors.Is(err, daemonfile.ErrNotSocket):
		return nil, fmt.Errorf("cannot listen on %s: %w: remove it or choose a path with -s", path, err)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: choose a path that can be written to with -s: %w", path, err)
	}
	return l, nil
}
