package requestport

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

	"github.com/pcp-go/pcp/examples/internal/hint"
	"github.com/pcp-go/pcp/examples/internal/pmcdlog"
	"github.com/pcp-go/pcp/internal/daemonfile"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pdu"
)

// DefaultPort is the port of a collector.
const DefaultPort = "44321"

// A Config says where a collector listens.
type Config struct {
	Interfaces []string // names, addresses, INADDR_ANY or INADDR_LOOPBACK; empty means INADDR_ANY, or INADDR_LOOPBACK if Embedded
	Ports      []string // numbers
	Socket     string   // path of the unix socket; empty means the default
	RunDir     string   // the directory of the default socket
	Backlog    int      // how many connections wait to be accepted; 0 means as many as the system lets
	Embedded   bool     // the collector has no configuration file, see Open
	Installed  bool     // the collector replaces PCP's pmcd, and errors have its words

	Activated []net.Listener // the sockets of a service manager, which replace all others
}

// A Port is a place to listen: an interface and port number, or a unix socket.
type Port struct {
	network      string // of net.Listen
	name         string // of the interface as the user gave it; the path of a unix socket
	port         string // the number, empty for a unix socket
	net.Listener        // nil if the port could not be opened
}

// Open opens the ports and the unix socket. An Embedded collector needs all of them, so that
// clients do not use another collector by mistake. Otherwise, as for pmcd, one is enough, and the
// errors of the others are returned as problems. Open prints the errors of an Installed collector
// and returns an empty PlainError for them.
func (c *Config) Open(stderr io.Writer) (ports []Port, problems []error, err error) {
	for _, l := range c.Activated {
		ports = append(ports, activated(l))
	}
	if len(ports) > 0 {
		return ports, nil, nil
	}
	c.dropDuplicates(stderr)
	ports, errs := c.listen()
	open := Listeners(ports)
	log := pmlog.New(stderr, "pmcd", slog.LevelInfo)
	if c.Installed {
		for _, err := range errs {
			log.Error(err.Error())
			if errors.Is(err, syscall.EADDRINUSE) {
				log.Error("pmcd may already be running")
			}
		}
	} else if !c.Embedded && len(open) > 0 {
		problems = errs
	}
	if len(errs) == 0 || !c.Embedded && len(open) > 0 {
		return ports, problems, nil
	}
	Close(open)
	if c.Installed {
		log.Error("pmcd: can't open any request ports, exiting")
		return nil, nil, pmcdlog.PlainError("")
	}
	return nil, nil, errors.Join(errs...)
}

// listen opens the ports and the socket. It also returns those that it could not open.
func (c *Config) listen() (ports []Port, errs []error) {
	for _, p := range c.requestPorts() {
		var l net.Listener
		err := error(&net.DNSError{Err: "no address", IsNotFound: true}) // net.Listen would open all addresses
		if p.name != "" {
			l, err = net.Listen(p.network, p.address())
		}
		if err == nil && c.Backlog > 0 {
			setBacklog(l, c.Backlog)
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
			if !c.Installed {
				err = hint.Listen(p.address(), err, "pmcd", "-p")
			} else {
				err = &portError{p, err}
			}
			errs = append(errs, err)
		}
	}
	p, err := c.listenUnix(ports)
	if err != nil && c.Installed {
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

// activated returns the port of a socket that the service manager has opened.
func activated(l net.Listener) Port {
	a, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return Port{network: "unix", name: l.Addr().String(), Listener: l}
	}
	p := Port{network: "tcp4", name: a.IP.String(), port: strconv.Itoa(a.Port), Listener: l}
	if a.IP.To4() == nil {
		p.network = "tcp6"
	}
	if a.IP.IsUnspecified() {
		p.name = anyInterface
	}
	return p
}

// dropDuplicates keeps each port number once.
func (c *Config) dropDuplicates(stderr io.Writer) {
	var ports []string
	for _, p := range c.Ports {
		if slices.Contains(ports, p) && p != "0" {
			pmlog.New(stderr, "pmcd", slog.LevelInfo).Warn(fmt.Sprintf("pmcd: duplicate client request port (%s) will be ignored", p))
			continue
		}
		ports = append(ports, p)
	}
	c.Ports = ports
}

// A portError is the error of a port in pmcd's words.
type portError struct {
	port Port
	err  error
}

func (e *portError) Unwrap() error { return e.err }

func (e *portError) Error() string {
	if _, unknown := errors.AsType[*net.DNSError](e.err); unknown {
		return fmt.Sprintf("OpenRequestSocket(%s, %s) invalid address", e.port.port, e.port.name)
	}
	return fmt.Sprintf("OpenRequestSocket(%s, %s, %s) __pmBind: %v", cmp.Or(e.port.port, "0"), e.port.name, e.port.family(), pdu.FromError(e.err))
}

// Listeners returns the listeners of the open ports.
func Listeners(ports []Port) (open []net.Listener) {
	for _, p := range ports {
		if p.Listener != nil {
			open = append(open, p.Listener)
		}
	}
	return open
}

// Close closes all listeners.
func Close(listeners []net.Listener) {
	for _, l := range listeners {
		l.Close()
	}
}

// address returns the address for net.Listen.
func (p Port) address() string {
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

// requestPorts returns the TCP ports to open.
func (c *Config) requestPorts() (all []Port) {
	interfaces := c.Interfaces
	if len(interfaces) == 0 {
		if interfaces = []string{anyInterface}; c.Embedded {
			interfaces = []string{loopback}
		}
	}
	add := func(network, name, port string) {
		if p := (Port{network: network, name: name, port: port}); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	for _, i := range interfaces {
		for _, p := range c.Ports {
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

// listenUnix opens the unix socket: that of Socket, or else pmcd.socket in RunDir. An Embedded
// collector instead uses a socket in a directory of the user if it cannot open that one, or if it
// does not serve the default port, because clients expect the collector of the default port at
// pmcd.socket. If another collector serves the user's socket, the name gets the port number. On a
// system without unix sockets the name of the Port is empty.
func (c *Config) listenUnix(ports []Port) (Port, error) {
	listen := func(path string) (Port, error) {
		l, err := listenAt(path)
		return Port{network: "unix", name: path, Listener: l}, err
	}
	if c.Socket != "" {
		return listen(c.Socket)
	}
	var p Port
	var err error
	if !c.Embedded || slices.Contains(c.Ports, DefaultPort) {
		p, err = listen(filepath.Join(c.RunDir, "pmcd.socket"))
		if err == nil || !c.Embedded {
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
		return Port{}, nil
	}
	return p, err
}

// portNumber returns the number of the first open port, or an empty string.
func portNumber(ports []Port) string {
	for _, l := range Listeners(ports) {
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			return strconv.Itoa(a.Port)
		}
	}
	return ""
}

// An inUseError means that another collector serves a unix socket.
type inUseError struct{ path string }

func (e *inUseError) Error() string {
	return fmt.Sprintf("cannot listen on %s: another pmcd serves it: end that or choose a path with -s", e.path)
}

func (e *inUseError) Unwrap() error { return syscall.EADDRINUSE }

// listenAt listens on a unix socket. It replaces a socket that no process serves any more, but no
// other file.
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
