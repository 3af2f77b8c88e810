package dbpmda

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/examples/internal/dso"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// maxReply is the maximum length of an agent's reply, which is also a collector's default.
const maxReply = 16 << 20

// A stream connects to an agent: the pipes of a process, or a socket.
type stream interface {
	io.ReadWriteCloser
	SetReadDeadline(t time.Time) error
	SetWriteDeadline(t time.Time) error
}

// An agent is the open agent. It stays open if another agent cannot be opened.
type agent struct {
	name    string     // that status shows
	dso     bool       // it was opened as a shared object, and runs within this program: results and errors look like those of one
	domain  pdu.Domain // of a dso; else 0, which agents do not look at
	pid     int        // of a process that was started
	version int        // of the protocol; 0 if it has not sent one
	conn    *pdu.Conn
	stream  stream
	broken  error  // why no further PDU can be read; nil if one can
	selects bool   // it has been told of a selection
	wait    func() // until the agent of a dso has ended; nil otherwise

	outFD, inFD int // the descriptors that a program has for the agent, in messages
}

// newAgent opens an agent on a stream and exchanges versions with it. The agent is open even if
// that fails.
func (d *debugger) newAgent(a *agent, s stream) {
	a.conn, a.stream = pdu.NewConn(s), s
	a.conn.MaxLen = maxReply
	a.conn.Trace = func(out bool, h pdu.Header, body []byte) { d.trace.pdu(a, out, h, body) }
	d.agent = a
	d.out.FlushLines()
	s.SetReadDeadline(time.Now().Add(time.Duration(d.timeout) * time.Second))
	d.exchangeVersions(a)
	s.SetReadDeadline(time.Time{})
	d.selection, d.selected = selection{}, true
}

// exchangeVersions reads the agent's CREDS and replies.
func (d *debugger) exchangeVersions(a *agent) {
	h, body, err := a.conn.Read()
	var creds pdu.Creds
	switch {
	case err == io.EOF:
		d.warn("pmdaversion: expecting PDU_CREDS, got EOF\n")
	case errors.Is(err, os.ErrDeadlineExceeded):
		d.warn("__pmGetPDU(%d): %v\n", a.inFD, pdu.ErrTimeout)
	case err != nil:
		d.warn("__pmGetPDU(%d): %v\n", a.inFD, pdu.FromError(err))
	case h.Kind != pdu.KindCreds:
		d.warn("pmdaversion: expecting PDU_CREDS, got PDU type %v\n", h.Kind)
	default:
		if err := creds.Decode(body); err != nil {
			d.warn("Warning: version exchange failed for PMDA %s: %v\n", a.name, pdu.FromError(err))
			return
		}
		a.version = int(creds.Version)
		reply := pdu.Creds{Version: pdu.ProtocolVersion}
		if err := a.conn.Write(int32(os.Getpid()), reply); err != nil {
			d.warn("Warning: version exchange failed for PMDA %s: %v\n", a.name, pdu.FromError(err))
		}
		return
	}
	d.warn("Warning: no version exchange with PMDA %s after %d secs\n", a.name, d.timeout)
}

// closeTimeout is the time that an agent has to read that its client has disconnected.
const closeTimeout = time.Second

// closeAgent tells the agent that its client has disconnected and closes the connection.
func (d *debugger) closeAgent() {
	a := d.agent
	if a == nil {
		return
	}
	d.agent = nil
	if a.broken == nil {
		a.stream.SetWriteDeadline(time.Now().Add(closeTimeout))
		_ = a.conn.Write(0, pdu.Status{Code: pdu.ErrNotConn}) // it may have gone before
	}
	a.stream.Close()
	if a.wait != nil {
		a.wait()
	}
}

// close executes the command close.
func (d *debugger) close() {
	if d.connected() {
		d.closeAgent()
	}
}

// connected reports whether an agent is open. It prints a message if not.
func (d *debugger) connected() bool {
	if d.agent == nil {
		d.warn("Warning: No PMDA currently opened\n")
	}
	return d.agent != nil
}

// pipes are the standard input and output of an agent.
type pipes struct {
	*os.File          // what is read
	in       *os.File // what is written
}

func (p pipes) Write(b []byte) (int, error)        { return p.in.Write(b) }
func (p pipes) SetWriteDeadline(t time.Time) error { return p.in.SetWriteDeadline(t) }
func (p pipes) Close() error                       { return errors.Join(p.in.Close(), p.File.Close()) }

// openPipe starts an agent.
func (d *debugger) openPipe(file string, args []string) {
	if _, err := os.Stat(file); err != nil {
		d.warn("openpmda: stat %s failed: %v\n", file, pdu.FromError(err))
		return
	}
	d.closeAgent()
	d.printf("Start %s PMDA: %s\n", filepath.Base(file), strings.Join(append([]string{file}, args...), " "))
	d.out.FlushLines()
	child, s, err := newPipes()
	if err != nil {
		d.warn("openpmda: pipe failed: %v\n", pdu.FromError(err))
		return
	}
	a := &agent{name: file, outFD: 4, inFD: 5}
	cmd := exec.Command(file, args...)
	cmd.Path = file // as it was given, not looked for
	cmd.Err = nil
	cmd.Stdin, cmd.Stdout, cmd.Stderr = child.File, child.in, os.Stderr
	if err := cmd.Start(); err != nil {
		d.warn("execvp: %v\n", pdu.FromError(err))
	} else {
		a.pid = cmd.Process.Pid
		go cmd.Wait()
	}
	child.Close()
	d.newAgent(a, s)
}

// newPipes makes the pipes of an agent: the agent's ends and ours.
func newPipes() (child, ours pipes, err error) {
	child.File, ours.in, err = os.Pipe()
	if err != nil {
		return child, ours, err
	}
	ours.File, child.in, err = os.Pipe()
	if err != nil {
		child.File.Close()
		ours.in.Close()
	}
	return child, ours, err
}

// openUnix connects to the socket of an agent.
func (d *debugger) openUnix(file string) {
	if _, err := os.Stat(file); err != nil {
		d.warn("opensocket: %s: %v\n", file, pdu.FromError(err))
		return
	}
	d.closeAgent()
	d.connect("unix", file, file, "socket "+file)
}

// openInet connects to a port of this host. It uses the low 16 bits of port.
func (d *debugger) openInet(family string, port int) {
	d.closeAgent()
	host, network := "127.0.0.1", "tcp4"
	if family == "ipv6" {
		host, network = "::1", "tcp6"
	}
	name := fmt.Sprintf("%s port %d", family, port)
	d.connect(network, net.JoinHostPort(host, strconv.Itoa(port&0xffff)), name, name)
}

func (d *debugger) connect(network, address, name, shown string) {
	c, err := net.Dial(network, address)
	if err != nil {
		d.warn("opensocket: connect: %v\n", pdu.FromError(err))
		return
	}
	d.printf("Connect to PMDA on %s\n", shown)
	d.newAgent(&agent{name: name, outFD: 3, inFD: 3}, c)
}

// servicePort returns the port of a TCP service.
func servicePort(service string) (int, error) {
	if _, err := strconv.Atoi(service); err == nil {
		return 0, errors.New("a number")
	}
	return net.DefaultResolver.LookupPort(context.Background(), "tcp", service)
}

// openDSO runs the built-in agent with the entry point of a shared object, because Go cannot load
// shared objects.
func (d *debugger) openDSO(file, entry string, domain pdu.Domain) {
	embedded := dso.Agents(new(pcpconf.Conf))
	if start := embedded[entry]; start != nil {
		d.openEmbedded(file, domain, start)
		return
	}
	if _, err := os.Stat(file); err != nil {
		d.warn("opendso: %s: %v\n", file, pdu.FromError(err))
		return
	}
	d.closeAgent()
	if base, ok := strings.CutPrefix(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), "pmda_"); ok && entry != base+"_init" {
		d.printf("Error: couldn't find init function \"%s\" in DSO \"%s\"\n", entry, file)
		return
	}
	d.printf("Error attaching DSO \"%s\"\nthis program loads no shared objects: run the agent as a daemon (open pipe), or open one of %s\n\n",
		file, strings.Join(slices.Sorted(maps.Keys(embedded)), ", "))
}

// dsoInterface is the version of the interface of shared objects in messages.
const dsoInterface = 7

// openEmbedded opens an agent that runs within this program.
func (d *debugger) openEmbedded(file string, domain pdu.Domain, start func(pdu.Domain) (pmda.Handler, error)) {
	h, err := start(domain)
	if err == nil {
		err = h.Err()
	}
	if err != nil {
		d.warn("Error attaching DSO \"%s\"\n%v\n", file, err)
		return
	}
	d.closeAgent()
	domain = h.Info().Domain
	ours, its := net.Pipe()
	ended := make(chan error, 1)
	go func() {
		defer its.Close()
		ended <- pmda.Serve(context.Background(), h, its)
	}()
	wait := func() {
		if err := <-ended; err != nil {
			d.warn("%s: %v\n", file, err)
		}
	}
	d.newAgent(&agent{name: file, dso: true, domain: domain, wait: wait}, ours)
}
