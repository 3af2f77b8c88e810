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

// ErrNotRunning says that all loggers of the call have been stopped or detached. The C library
// returns EINVAL for this error and for calls in the wrong order.
var ErrNotRunning = errors.New("record: the logger has been stopped or detached")

// Errors of calls in the wrong order.
var (
	errStarted    = errors.New("record: the session has been started or closed")
	errNotStarted = errors.New("record: the session has not been started")
	errNoHosts    = errors.New("record: the session has no hosts")
	errDefault    = errors.New("record: the session has a default host")
)

// Options are how a Session records.
type Options struct {
	// Creator is the program that makes the recording, and replays it if Replay is set. "" means
	// the name of this program.
	Creator string
	// Replay says that the creator can replay the recording with a configuration, which is written
	// to Session.Replay.
	Replay bool

	// Program is the program to run for each host: pmlogger(1), or one with the same options. With
	// "", this process records the hosts. A program without a slash in its name is searched for in
	// PATH. Until it has opened its log, its standard output and error are this process's standard
	// error.
	Program string
	// Args are arguments of the program for all hosts, before the session's own: -x, -h, -l, -c and
	// the archive. An option such as "-s 10MB" is two of them.
	Args []string

	// Dial connects a logger of this process with a host. Nil: pmapi.Dial. The logger closes the
	// context.
	Dial func(ctx context.Context, host string) (*pmapi.Context, error)
	// Logger is how loggers of this process record, and when they end. Config, Base and Report are
	// the session's.
	Logger logger.Options
	// Report, if not nil, is called with the events of loggers of this process, after they are
	// written to the logs. Several loggers may call it at the same time.
	Report func(host string, e logger.Event)
}

// A Host is a host to record.
type Host struct {
	// Name is the name of the host as pmapi.Dial and pmlogger -h have it, without blanks.
	Name string
	// Config says what to record, in the language of pmlogger(1); see package archive/logger.
	Config string
	// Default puts the host first in the folio. Tools that replay the folio use this host unless
	// another one is named. One host of a session can be the default.
	Default bool
	// Args are further arguments of Options.Program.
	Args []string
}

// A Session is a recording. It is safe for concurrent use.
type Session struct {
	o      Options
	path   string // of the folio, as the caller has it
	dir    string // absolute
	base   string
	replay *os.File // nil after the start

	mu      sync.Mutex
	folio   *os.File // nil after the start
	loggers []*Logger
	state   state
}

// state is what a session has come to.
type state uint8

const (
	stateSetUp state = iota
	stateStarted
	stateClosed // before it was started
)

// Create creates a folio and its session. The file must not exist (fs.ErrExist). The counterpart of
// pmRecordSetup(3). Errors are those of the file system.
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

// prepare finds the base name and writes the beginning of the folio.
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

// created is where and when a folio is made.
func created(now time.Time) string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return "on " + host + " at " + now.Format(folio.Recorded.Date)
}

// isWord reports whether a name can be a word in a folio and on a control pipe.
func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// Replay returns the writer for the configuration that replays the recording: pmafm(1) runs
// "CREATOR -c FILE". The configuration must be written before Start. Without Options.Replay it is
// discarded.
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

// Add adds a host to a session that has not been started. The counterpart of pmRecordAddHost(3).
// It fails after Start, for a second default host, and for a configuration that a logger of this
// process cannot read. Other errors are those of the file system.
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

// Start completes the folio and starts the loggers. The counterpart of pmRecordControl with
// PM_REC_ON. A host that cannot be reached is not an error of Start: its logger ends, see
// Logger.Done.
//
// When ctx ends, loggers are stopped as by Stop, without waiting. Programs that have been detached
// are not.
//
// If there is an error, the loggers that have been started are stopped. Start fails without hosts
// and the second time. Other errors are those of starting a program and of the file system.
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

// closeFiles writes the rest of the folio, and closes it and the replay configuration.
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

// folioOrder is the loggers in the order of the folio, which is the C library's: that of the
// default host, and then the newest first.
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

// Status is Logger.Status of all loggers that are neither stopped nor detached, in the order in
// which they were added. If some of them have ended by themselves, the error has one for each, and
// the result the others. The error is ErrNotRunning if all are stopped or detached.
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

// Stop calls Logger.Stop for all loggers that are neither stopped nor detached. Errors are as those
// of Status.
func (s *Session) Stop(ctx context.Context) error {
	on, err := s.on()
	if err != nil {
		return err
	}
	// First tell all, so that they end at the same time.
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

// Detach calls Logger.Detach for all loggers that are neither stopped nor detached. Errors are as
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

// on is the loggers that are neither stopped nor detached.
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

// Close ends the session. It stops all loggers that are not detached and waits for their end
// without a time limit, also for loggers that were stopped before. Its error has the failures of
// the loggers that it has stopped. If the session has not been started, Close removes all its
// files.
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

// discard removes the files of a session that is not started.
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
