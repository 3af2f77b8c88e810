package pmlcshell

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/pcptool/pmlc"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
)

// A loggerID identifies a logger to connect to.
type loggerID struct {
	kind   idKind
	pid    int
	port   int
	socket string // of the host, such as local:PATH
}

type idKind uint8

const (
	byPrimary idKind = iota
	byPID
	byPort
	bySocket
)

// Errors of connections without another error code.
const (
	errNoHost  = pdu.Error(-113) // EHOSTUNREACH, which stands for a host without address
	errRefused = pdu.Error(-111) // ECONNREFUSED, which stands for most that can be wrong
	errNoPerm  = pdu.Error(-1)   // EPERM
)

// Connect connects to the logger of the command line: the one with a PID or a port, the primary
// one, or the one at the socket of Host.
func (s *Shell) Connect(ctx context.Context, pid, port int, primary bool) {
	id := loggerID{kind: byPID, pid: pid, port: port}
	switch {
	case primary:
		id.kind = byPrimary
	case port > 0:
		id.kind = byPort
	case pid == 0:
		id.kind = bySocket
	}
	s.connect(ctx, id, "", true)
}

// disconnect closes the connection if there is one.
func (s *Shell) disconnect() {
	if s.client != nil {
		s.client.Close()
	}
	if s.metrics != nil {
		s.metrics.Close()
	}
	s.client, s.metrics = nil, nil
}

// connect connects to a logger in place of the one that there may be, and reports why it cannot,
// or, for the command line, that it has. An empty host is the default.
func (s *Shell) connect(ctx context.Context, id loggerID, host string, verbose bool) {
	s.disconnect()
	given := host != ""
	if !given {
		host = s.Host
	}
	d := &dialing{Shell: s, id: id, host: parseHost(host), dialer: pmlc.Dialer{Timeout: s.Timeout}}
	d.id.socket = d.host.path
	switch nothing := id.kind == bySocket && d.id.socket == ""; {
	case d.host.scheme == "unix" && (nothing || id.kind == byPort):
		s.warnf("The 'unix:' url requires either 'primary', a pid or a socket path\n")
		return
	case d.host.scheme == "local" && nothing && given:
		s.warnf("The 'local:' url requires either 'primary', a pid, a port or a socket path\n")
		return
	}
	client, err := d.dial(ctx)
	if err != nil {
		s.warnf("Unable to connect to %s at %s: %v\n", d.name(verbose), host, connectError(err))
		return
	}
	s.client, s.id, s.host = client, id, host
	if verbose {
		s.printf("Connected to %s at %s\n", d.name(false), host)
	}
}

// name returns the name of a logger in messages.
func (d *dialing) name(the bool) string {
	switch {
	case d.id.kind == byPrimary:
		return "primary pmlogger"
	case d.id.socket != "" && the:
		return "pmlogger via the local socket"
	case d.id.socket != "":
		return "pmlogger via local socket"
	case d.id.port != 0:
		return fmt.Sprintf("pmlogger on port %d", d.id.port)
	}
	return fmt.Sprintf("pmlogger pid %d", d.id.pid)
}

// connectError returns the text of an error of a connection.
func connectError(err error) string {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return errNoHost.Error()
	}
	switch e := pdu.FromError(err); {
	case e == pdu.ErrTimeout:
		return "Timeout, closed connection to the pmlogger instance"
	case isLost(err):
		return "Lost connection to the pmlogger instance"
	default:
		return e.Error()
	}
}

// isLost reports whether an error means that the logger has ended or does not speak the protocol.
func isLost(err error) bool {
	switch pdu.FromError(err) {
	case pdu.ErrEOF, pdu.ErrIPC, pdu.ErrTooBig, -104, -32: // ECONNRESET, EPIPE
		return true
	}
	return false
}

// A hostName is a host in a command.
type hostName struct {
	scheme string // "unix", "local" or ""
	path   string // of a socket, with a scheme
	name   string // without a scheme
}

func parseHost(host string) hostName {
	for _, scheme := range []string{"unix", "local"} {
		path, ok := strings.CutPrefix(host, scheme+":")
		if !ok {
			continue
		}
		if path = strings.TrimLeft(path, "/"); path != "" {
			path = "/" + path
		}
		return hostName{scheme: scheme, path: path, name: "localhost"}
	}
	if n, err := strconv.ParseUint(host, 10, 32); err == nil { // as inet_aton(3) has it
		ip := netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(n))))
		host = ip.String()
	}
	return hostName{name: host}
}

// isLocal reports whether a host is this computer.
func (h hostName) isLocal() bool {
	if h.scheme != "" || h.name == "localhost" {
		return true
	}
	own, err := os.Hostname()
	if err != nil {
		return false
	}
	if own == h.name {
		return true
	}
	addrs, err := net.LookupHost(h.name)
	if err != nil {
		return false
	}
	mine, err := net.LookupHost(own)
	if err != nil {
		return false
	}
	for _, a := range addrs {
		for _, b := range mine {
			if a == b {
				return true
			}
		}
	}
	return false
}

// A dialing is an attempt to connect to a logger.
type dialing struct {
	*Shell
	id     loggerID
	host   hostName
	dialer pmlc.Dialer
}

// dial tries the sockets, and then the port.
func (d *dialing) dial(ctx context.Context) (*pmlc.Client, error) {
	if d.host.scheme == "" && strings.Contains(d.host.name, ":") {
		return nil, errNoPerm // a port has no place here
	}
	if d.host.scheme != "" && (d.id.socket != "" || d.id.kind == byPrimary || d.id.kind == byPID) {
		c, err := d.dialSockets(ctx)
		if err == nil || d.host.scheme == "unix" || d.id.kind == bySocket {
			return c, err
		}
	}
	switch {
	case d.id.kind == byPort:
		return d.dialPort(ctx, d.id.port)
	case d.id.kind == bySocket && d.host.scheme != "":
		return nil, errNoPerm
	}
	port, err := d.findPort(ctx)
	if err != nil {
		return nil, err
	}
	c, err := d.dialPort(ctx, port)
	if err == nil && d.id.kind == byPID && c.PID() != d.id.pid {
		c.Close()
		err = errRefused
	}
	if d.id.kind == byPID {
		d.id.port = port
	}
	if _, ok := errors.AsType[*net.DNSError](err); err != nil && !ok && pdu.FromError(err) != pdu.ErrTimeout {
		return nil, errRefused
	}
	return c, err
}

// dialSockets tries the unix sockets.
func (d *dialing) dialSockets(ctx context.Context) (c *pmlc.Client, err error) {
	paths := []string{d.id.socket}
	if d.id.socket == "" {
		paths = nil
		for _, dir := range d.SocketDirs {
			if d.id.kind == byPrimary {
				paths = append(paths, pmlc.PrimarySocketPath(dir))
			} else {
				paths = append(paths, pmlc.SocketPath(dir, d.id.pid))
			}
		}
	}
	err = errRefused
	for _, path := range paths {
		if c, err = d.dialer.Dial(ctx, "unix", path); err == nil {
			return c, nil
		}
	}
	return nil, err
}

func (d *dialing) dialPort(ctx context.Context, port int) (*pmlc.Client, error) {
	if port < 1 || port > 65535 {
		return nil, errRefused
	}
	return d.dialer.Dial(ctx, "tcp", net.JoinHostPort(d.host.name, strconv.Itoa(port)))
}

// findPort finds the port of the logger on the host.
func (d *dialing) findPort(ctx context.Context) (int, error) {
	pid := d.id.pid
	if d.id.kind == byPrimary {
		pid = pmlc.Primary
	}
	if d.host.isLocal() {
		p, err := pmlc.Find(d.MapDir, pid)
		d.mapErrors(err)
		if err != nil && p.Port == 0 {
			return 0, errRefused
		}
		return p.Port, nil
	}
	list, err := d.remoteProcesses(ctx, d.host.name)
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return 0, err
	}
	for _, p := range list {
		if p.PID == pid {
			return p.Port, nil
		}
	}
	return 0, errRefused
}

// mapErrors reports malformed map files.
func (s *Shell) mapErrors(err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			s.mapErrors(err)
		}
		return
	}
	e, ok := errors.AsType[*pmlc.MapFileError](err)
	switch {
	case !ok:
	case e.Problem == "empty":
		s.warnf("__pmLogFindLocalPorts: pmlogger port file %s empty!\n", e.Path)
	default:
		s.warnf("__pmLogFindLocalPorts: pmlogger port file %s: %s\n", e.Path, e.Problem)
	}
}

// An unreachable is the error of a connection to the collector of a host.
type unreachable struct{ err error }

func (e unreachable) Error() string { return e.err.Error() }
func (e unreachable) Unwrap() error { return e.err }

// remoteProcesses returns the loggers on another host, which its collector lists.
func (s *Shell) remoteProcesses(ctx context.Context, host string) ([]pmlc.Process, error) {
	if _, err := net.LookupHost(host); err != nil {
		return nil, err
	}
	pc, err := s.Dial(ctx, host)
	if err != nil {
		return nil, unreachable{err}
	}
	defer pc.Close()
	ids, err := pc.Lookup(ctx, []string{"pmcd.pmlogger.port"})
	if err != nil {
		return nil, err
	}
	var r pdu.Result
	if err := pc.Fetch(ctx, ids, &r); err != nil {
		return nil, err
	}
	var list []pmlc.Process
	for inst, a := range r.At(0).All(pdu.TypeU32) {
		port, err := pdu.As[uint32](a)
		if err == nil && port <= 65535 {
			list = append(list, pmlc.Process{PID: int(inst), Port: int(port)})
		}
	}
	return list, nil
}

// show lists the loggers on a host.
func (s *Shell) show(ctx context.Context, host string) {
	var list []pmlc.Process
	var err error
	h := parseHost(host)
	if h.isLocal() {
		list, err = pmlc.Processes(s.MapDir)
		s.mapErrors(err)
		if _, ok := errors.AsType[*pmlc.MapFileError](err); ok {
			err = nil
		} else if err != nil {
			s.warnf("__pmLogFindLocalPorts: scandir: %v\n", pdu.FromError(err))
		}
	} else {
		list, err = s.remoteProcesses(ctx, h.name)
	}
	if e, ok := errors.AsType[unreachable](err); ok {
		s.warnf("Error trying to connect to PMCD on %s: %s\n", host, connectError(e.err))
		return
	}
	if err != nil {
		s.warnf("Error finding pmloggers on %s: %s\n", host, connectError(err))
		return
	}
	s.printProcesses(host, list)
}

// printProcesses prints the primary logger with its number, and then the others.
func (s *Shell) printProcesses(host string, list []pmlc.Process) {
	if len(list) == 0 {
		s.printf("No pmloggers running on %s\n", host)
		return
	}
	s.printf("The following pmloggers are running on %s:\n    ", host)
	primary := 0
	for _, p := range list {
		if p.PID != pmlc.Primary {
			continue
		}
		s.printf("primary")
		for _, q := range list {
			if q.PID != pmlc.Primary && q.Port == p.Port {
				s.printf(" (%d)", q.PID)
				primary = q.PID
				break
			}
		}
	}
	for _, p := range list {
		if p.PID != pmlc.Primary && p.PID != primary {
			s.printf(" %d", p.PID)
		}
	}
	s.printf("\n")
}

// openCollector opens a context on the collector of the connected logger, for names and instances.
// It reports failures.
func (s *Shell) openCollector(ctx context.Context) bool {
	if s.metrics != nil {
		return true
	}
	st, err := s.client.Status(ctx)
	if err != nil {
		s.failed("Error", err)
		return false
	}
	host := st.Source
	if h := parseHost(s.host); h.scheme == "" && !h.isLocal() && parseHost(host).isLocal() {
		host = h.name // a collector that is local to the logger
	}
	pc, err := s.Dial(ctx, host)
	if err != nil {
		s.warnf("Error trying to connect to PMCD on %s: %s\n", terminal.Escape(host), connectError(err))
		return false
	}
	s.metrics = pc
	return true
}

func (s *Shell) newVolume(ctx context.Context) {
	n, err := s.client.NewVolume(ctx)
	if err != nil {
		s.failed("Error", err)
		return
	}
	s.warnf("New log volume %d\n", n)
}

func (s *Shell) sync(ctx context.Context) {
	if err := s.client.Sync(ctx); err != nil {
		s.failed("Error", err)
	}
}

// qa makes the logger misbehave.
func (s *Shell) qa(ctx context.Context, n int) {
	if err := s.client.QA(ctx, n); err != nil {
		s.failed("Error", err)
	}
}

// failed reports the failure of a request. prefix precedes an error of the logger. After another
// error it closes the connection.
func (s *Shell) failed(prefix string, err error) {
	if e, ok := err.(pdu.Error); ok {
		if e != pdu.ErrIPC {
			s.warnf("%s: %v\n", prefix, e)
			return
		}
	} else {
		prefix = "Error receiving response from pmlogger"
	}
	s.warnf("%s: %s\n", prefix, connectError(err))
	s.disconnect()
}

// SocketDirs returns the directories of loggers' sockets: PCP_RUN_DIR and the user's.
func SocketDirs(run, home string) []string {
	dirs := []string{run}
	if home != "" {
		dirs = append(dirs, filepath.Join(home, ".pcp", "run"))
	}
	return dirs
}
