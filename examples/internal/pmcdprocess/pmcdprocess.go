// Package pmcdprocess runs the process of pmcd: in the background or for a service manager, as
// another user, until a signal ends it or another process takes its place.
package pmcdprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/pcp-go/pcp/examples/internal/handover"
	"github.com/pcp-go/pcp/internal/account"
	"github.com/pcp-go/pcp/internal/daemonfile"
	"github.com/pcp-go/pcp/pmda/collector"
)

// A Config says how the process runs.
type Config struct {
	Embedded   bool   // no configuration file: the process stays as it is started, and is no service
	Foreground bool   // it does not leave the terminal, and is no service unless Managed
	Managed    bool   // it is a service that does not leave the terminal
	User       string // whom a service becomes; empty for no change
	RunDir     string // directory of pmcd.pid
}

// isService reports whether the process does what a service does: it has a file with its process
// identifier, tells the service manager of its states, and becomes another user.
func (c *Config) isService() bool { return !c.Embedded && (c.Managed || !c.Foreground) }

// A Process is this process.
type Process struct {
	Config
	Activated   []net.Listener        // the sockets of the service manager
	Predecessor *handover.Predecessor // the process whose place this one takes, nil if there is none
	Stderr      io.WriteCloser        // standard error as it was at the start; Serve closes it

	wasRoot   bool                // the process was started with root's privileges
	listening func()              // says so to the process that started this one; nil in the foreground
	successor *handover.Successor // the process that has taken this one's place
}

// startTime limits how long the parent waits until the daemon listens. A start that takes longer
// does no harm, because early clients wait for the collector in any case.
const startTime = 10 * time.Second

// Start starts the process, in the background unless the Config says otherwise. It returns nil if
// another process now runs in the background. The service manager watches the process that gets its
// sockets, which therefore stays in the foreground.
func Start(c Config) (*Process, error) {
	if !c.Embedded {
		setUmask()
	}
	p := &Process{Config: c, wasRoot: os.Geteuid() == 0, Predecessor: handover.FindPredecessor()}
	var err error
	if p.Activated, err = daemonfile.Activated(); err != nil {
		return nil, err
	}
	if len(p.Activated) > 0 && !p.Foreground {
		p.Managed = true
	}
	if p.isService() && p.User != "" && !account.Exists(p.User) {
		return nil, fmt.Errorf("cannot find the %s user to switch to: name another with -U", p.User)
	}
	if p.isService() && !p.Managed {
		// The daemon gets no standard output, because the reader of that may await its end.
		parent, listening, err := handover.Daemonize(startTime, nil)
		if err != nil || parent {
			return nil, err
		}
		p.listening = listening
	}
	p.Stderr = daemonfile.KeepStderr()
	return p, nil
}

// Listening tells the process that started this one in the background that clients can connect.
func (p *Process) Listening() {
	if p.listening != nil {
		p.listening()
	}
}

// Serve serves until a signal ends the process or another process takes its place. Before that a
// service writes pmcd.pid, with the privileges that it was started with, tells the service manager
// that it is ready, and becomes User. Serve calls started when the collector serves, and what that
// returns at the end. The context of started ends with the signal.
func (p *Process) Serve(srv *collector.Server, listeners []net.Listener, started func(context.Context) (stop func())) error {
	caught := catchSignals() // before a client can know that the collector serves
	defer caught.stop()
	unregister, err := p.becomeService(srv.Logger)
	if err != nil {
		return errors.Join(err, srv.Close())
	}
	defer func() {
		if p.successor == nil { // or the files and the service are that one's
			unregister()
		}
	}()
	defer started(caught.end)()
	p.Stderr.Close()                 // a script that reads it waits for its end
	p.Predecessor.Inherit(listeners) // not before: one that fails to start leaves the sockets alone
	p.Predecessor.Relieve(caught.end, func() { srv.RestartAgents() })
	return caught.serve(srv, listeners, func() bool { return p.handOver(caught.end, listeners, srv) })
}

// becomeService registers a service and switches to its user. unregister undoes the registration.
func (p *Process) becomeService(log *slog.Logger) (unregister func(), err error) {
	if !p.isService() {
		return func() {}, nil
	}
	unregister, pidErr, notifyErr := daemonfile.Register(filepath.Join(p.RunDir, "pmcd.pid"))
	if pidErr != nil {
		log.Warn("process id not noted", slog.Any("err", pidErr))
	}
	if notifyErr != nil {
		log.Warn("service manager not told", slog.Any("err", notifyErr))
	}
	if p.User != "" {
		if err := account.Become(p.User); err != nil {
			unregister()
			return nil, err
		}
	}
	return unregister, nil
}
