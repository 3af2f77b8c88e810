package logger

import (
	"os"
	"path/filepath"
	"time"

	"github.com/pcp-go/pcp/archive/push"
)

// A Status is the state of a Logger, as pmlc(1) shows it.
type Status struct {
	Start time.Time // of the archive; the start of Run before the first record, and zero before Run
	Last  time.Time // of the last record

	Volume  int   // number of the current volume
	Size    int64 // bytes of the current volume
	Bytes   int64 // bytes of all volumes
	Records int   // how often tasks were recorded

	Push    push.SenderStats // with Options.Push
	LeftOut int              // records that were dropped because the memory of Push was full

	Connected bool
	Host      string // in the label of the archive
	TimeZone  string // of the collector
	ZoneInfo  string // of the collector
}

// Status returns the state of the logger. It never waits.
func (l *Logger) Status() Status {
	l.public.Lock()
	defer l.public.Unlock()
	return l.status
}

// Base returns the base name of the archive: Options.Base, or with Push and no Base the URL without
// a password.
func (l *Logger) Base() string { return l.opts.Base }

// publish updates the status.
func (l *Logger) publish() {
	label := l.w.Label()
	l.public.Lock()
	defer l.public.Unlock()
	s := &l.status
	s.Start, s.Last = label.Start, l.w.Last()
	if s.Start.IsZero() {
		s.Start = l.begun
	}
	s.Volume, s.Size, s.Bytes = label.Volume, l.w.Size(), l.volume.total(l.w)
	s.Records, s.Connected = l.records, !l.lost
	if l.push.sender != nil {
		s.Push, s.LeftOut = l.push.sender.Stats(), l.push.leftAll
	}
}

// NewVolume begins another volume and returns its number. Before the first record it changes
// nothing and returns the number of the current volume. The event NewVolume has the reason:
// pmlogger(1) logs "pmlc request" and "SIGHUP". The error is os.ErrClosed if the logger does not
// run.
func (l *Logger) NewVolume(reason string) (int, error) {
	l.lock()
	defer l.mu.Unlock()
	if !l.running {
		return 0, os.ErrClosed
	}
	n := l.newVolume(reason)
	l.publish()
	return n, nil
}

// Sync writes the archive to stable storage. Other programs can read a record even without Sync.
// Errors: os.ErrClosed if the logger does not run, and those of writing.
func (l *Logger) Sync() error {
	l.lock()
	defer l.mu.Unlock()
	if !l.running {
		return os.ErrClosed
	}
	return l.w.Sync()
}

// absolute returns the absolute path of an archive, or base if that cannot be found.
func absolute(base string) string {
	if abs, err := filepath.Abs(base); err == nil {
		return abs
	}
	return base
}
