package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/internal/folio"
	"github.com/pcp-go/pcp/internal/recordpipe"
	"github.com/pcp-go/pcp/pmapi"
)

// ErrNotRunning means that the logger, or all loggers of the session, were stopped or detached. The
// C library returns EINVAL for this and for calls in the wrong order.
var ErrNotRunning = errors.New("record: the logger has been stopped or detached")

// Errors of calls in the wrong order.
var (
	errStarted    = errors.New("record: the session has been started or closed")
	errNotStarted = errors.New("record: the session has not been started")
	errNoHosts    = errors.New("record: the session has no hosts")
	errDefault    = errors.New("record: the session has a default host")
)

// Options configure a Session.
type Options struct {
	// Creator is the name of the program that makes the recording, and replays it if Replay is set.
	// "" means this program. It must not contain blanks.
	Creator string
	// Replay says that the creator can replay the recording with the configuration that it writes
	// to Session.Replay.
	Replay bool

	// Program is the program to run for each host: pmlogger(1), or one with the same options. ""
	// means that this process records the hosts. A name without a slash is searched for in PATH.
	// Until the program opens its log, its output goes to this process's standard error.
	Program string
	// Args are arguments of the program for all hosts. They precede the session's own: -x, -h, -l,
	// -c and the archive. An option such as "-s 10MB" is two arguments.
	Args []string

	// Dial connects a logger of this process to a host. Nil means pmapi.Dial. The logger closes the
	// context.
	Dial func(ctx context.Context, host string) (*pmapi.Context, error)
	// Logger configures loggers of this process. The session sets Config, Base and Report.
	Logger logger.Options
	// Report, if not nil, is called with each event of a logger of this process, after the event is
	// written to its log. Several loggers may call it concurrently.
	Report func(host string, e logger.Event)
}

// A Host is a host to record.
type Host struct {
	// Name is the host as for pmapi.Dial and pmlogger -h. It must not contain blanks.
	Name string
	// Config says what to record, in the language of pmlogger(1). See package archive/logger.
	Config string
	// Default puts the host first in the folio. Tools that replay the folio use it unless told
	// otherwise. At most one host of a session can be the default.
	Default bool
	// Args are arguments of Options.Program for this host, after Options.Args.
	Args []string
}

// A Session is a recording of one or more hosts. It is safe for concurrent use.
type Session struct {
	o      Options
	path   string // path of the folio, as given to Create
	dir    string // absolute directory of the folio
	base   string
	replay *os.File // nil after the start

	mu      sync.Mutex
	folio   *os.File // nil after the start
	loggers []*Logger
	state   state
}

// A state is the state of a session.
type state uint8

const (
	stateSetUp state = iota
	stateStarted
	stateClosed // closed before it was started
)

// Create creates a folio and its session. The file must not exist (fs.ErrExist). Other errors are
// those of the file system, and an error for an invalid creator or path. Create is the counterpart
// of pmRecordSetup(3).
func Create(path string, o Options) (*Session, error) {
	if o.Creator == "" {
		o.Creator = filepath.Base(os.Args[0])
	}
	if !isWord(o.Creator) {
		return nil, fmt.Errorf("record: %q cannot be the name of a creator", o.Creator)
	}
	if strings.Contains(path, "\n") {
		return nil, fmt.Errorf("record: %q cannot be the name of a folio", path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	s := &Session{o: o, path: path, dir: filepath.Dir(abs)}
	if s.folio, err = createFile(abs); err != nil {
		return nil, err
	}
	if err := s.prepare(); err != nil {
		s.discard()
		return nil, err
	}
	return s, nil
}

// prepare chooses the base name and writes the start of the folio.
func (s *Session) prepare() (err error) {
	if s.base, s.replay, err = createBase(s.dir); err != nil {
		return err
	}
	f := folio.Folio{Created: created(time.Now()), Creator: s.o.Creator}
	if s.o.Replay {
		f.Config = s.base
	}
	_, err = s.folio.Write(folio.Recorded.Append(nil, f))
	return err
}

// created returns the line of a folio that says where and when it was made.
func created(now time.Time) string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return "on " + host + " at " + now.Format(folio.Recorded.Date)
}

// isWord reports whether a name can be one word in a folio and on a control pipe.
func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// Replay returns the writer for the configuration that replays the recording: pmafm(1) runs
// "CREATOR -c FILE". Write the configuration before Start. Without Options.Replay it is discarded.
func (s *Session) Replay() io.Writer {
	if !s.o.Replay {
		return io.Discard
	}
	return s.replay
}

// Loggers returns the loggers of all hosts, in the order of the calls of Add.
func (s *Session) Loggers() []*Logger {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Logger(nil), s.loggers...)
}

// Add adds a host to a session that has not been started. It fails after Start and Close, for a
// name that is empty or has blanks, for a second default host, and for a configuration that a
// logger of this process cannot parse. Other errors are those of the file system, with fs.ErrExist
// for more than 27 hosts of one name. Add is the counterpart of pmRecordAddHost(3).
func (s *Session) Add(h Host) (*Logger, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.state != stateSetUp:
		return nil, errStarted
	case !isWord(h.Name):
		return nil, fmt.Errorf("record: %q cannot be the name of a host", h.Name)
	}
	for _, l := range s.loggers {
		if h.Default && l.host.Default {
			return nil, errDefault
		}
	}
	l := &Logger{s: s, host: h, done: make(chan struct{})}
	var err error
	if s.o.Program == "" {
		l.r, err = newGoroutine(h)
	} else {
		l.r = &process{}
	}
	if err != nil {
		return nil, err
	}
	if l.base, err = createConfig(s.dir, s.base, h); err != nil {
		return nil, err
	}
	s.loggers = append(s.loggers, l)
	return l, nil
}

// Start completes the folio and starts the loggers. If a host cannot be reached, Start succeeds but
// the logger ends; see Logger.Done. Start is the counterpart of pmRecordControl with PM_REC_ON.
//
// When ctx ends, loggers are stopped without waiting. Detached programs continue.
//
// After an error, loggers that were started are stopped without waiting. Start fails without hosts
// and if it is called twice. Other errors are those of starting a program and of the file system.
func (s *Session) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.state != stateSetUp:
		return errStarted
	case len(s.loggers) == 0:
		return errNoHosts
	}
	s.state = stateStarted
	if err := s.closeFiles(); err != nil {
		return err
	}
	for _, l := range s.loggers {
		if err := l.start(ctx); err != nil {
			for _, l := range s.loggers {
				l.abort()
			}
			return err
		}
	}
	return nil
}

// closeFiles completes and closes the folio, and closes the replay configuration.
func (s *Session) closeFiles() error {
	var text []byte
	for _, l := range s.folioOrder() {
		text = folio.Archive{Host: l.host.Name, Base: l.base}.Append(text)
	}
	_, err := s.folio.Write(text)
	err = errors.Join(err, s.folio.Close(), s.replay.Close())
	if !s.o.Replay {
		err = errors.Join(err, os.Remove(s.replay.Name()))
	}
	return err
}

// folioOrder returns the loggers in the order of the folio, as in the C library: the default host's
// first, then the newest first.
func (s *Session) folioOrder() []*Logger {
	var first, others []*Logger
	for i := len(s.loggers) - 1; i >= 0; i-- {
		if l := s.loggers[i]; l.host.Default {
			first = append(first, l)
		} else {
			others = append(others, l)
		}
	}
	return append(first, others...)
}

// Status returns Logger.Status of all loggers that are neither stopped nor detached, in the order
// of Add. The error joins those of the loggers that failed; the result has the others. It is
// ErrNotRunning if all loggers are stopped or detached.
func (s *Session) Status() ([]Status, error) {
	on, err := s.on()
	if err != nil {
		return nil, err
	}
	var all []Status
	var errs []error
	for _, l := range on {
		st, err := l.Status()
		if err == nil {
			all = append(all, st)
		}
		errs = append(errs, err)
	}
	return all, errors.Join(errs...)
}

// Stop calls Logger.Stop for all loggers that are neither stopped nor detached. Errors are like
// those of Status.
func (s *Session) Stop(ctx context.Context) error {
	on, err := s.on()
	if err != nil {
		return err
	}
	// Stop all before waiting, so that they end at the same time.
	errs := make([]error, len(on))
	for i, l := range on {
		errs[i] = l.command(recordpipe.Stop)
	}
	for i, l := range on {
		if errs[i] == nil {
			errs[i] = l.wait(ctx)
		}
	}
	return errors.Join(errs...)
}

// Detach calls Logger.Detach for all loggers that are neither stopped nor detached. Errors are like
// those of Status.
func (s *Session) Detach() error {
	on, err := s.on()
	if err != nil {
		return err
	}
	var errs []error
	for _, l := range on {
		errs = append(errs, l.Detach())
	}
	return errors.Join(errs...)
}

// on returns the loggers that are neither stopped nor detached.
func (s *Session) on() (on []*Logger, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != stateStarted {
		return nil, errNotStarted
	}
	for _, l := range s.loggers {
		if l.isIn(phaseOn) {
			on = append(on, l)
		}
	}
	if len(on) == 0 {
		return nil, ErrNotRunning
	}
	return on, nil
}

// Close ends the session. It stops all loggers that are not detached and waits without a time limit
// until they have ended, even those stopped before. The error joins those of the loggers that Close
// stopped. If the session was not started, Close removes its files.
func (s *Session) Close() error {
	s.mu.Lock()
	if s.state == stateSetUp {
		s.state = stateClosed
		s.discard()
	}
	loggers := s.loggers
	s.mu.Unlock()
	on, _ := s.on()
	for _, l := range on {
		l.abort()
	}
	var errs []error
	for _, l := range on {
		errs = append(errs, l.wait(context.Background()))
	}
	for _, l := range loggers {
		if l.isIn(phaseStopped) {
			<-l.done
		}
	}
	return errors.Join(errs...)
}

// discard removes the files of a session that was not started.
func (s *Session) discard() {
	for _, f := range []*os.File{s.folio, s.replay} {
		if f != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}
	for _, l := range s.loggers {
		os.Remove(filepath.Join(s.dir, l.base+".config"))
	}
}
