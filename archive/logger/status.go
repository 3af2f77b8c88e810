package logger

import (
	"os"
	"path/filepath"
	"time"

	"github.com/pcp-go/pcp/archive/push"
)

// A Status is the state of a Logger, as pmlc(1) shows it.
type Status struct {
	Start time.Time // of the archive, the zero time before its first record
	Last  time.Time // of the last record

	Volume  int   // the present one
	Size    int64 // its bytes
	Bytes   int64 // those of all volumes
	Records int   // how often tasks were recorded

	Push    push.SenderStats // of a logger with Options.Push
	LeftOut int              // records that were left out, since there was no room until the receiver had taken others

	Connected bool
	Host      string // that of the label
	TimeZone  string // of the collector
	ZoneInfo  string // of the collector
}

// Status is how the logger is doing. It does not wait for anything.
func (l *Logger) Status() Status {
	l.public.Lock()
	defer l.public.Unlock()
	return l.status
}

// Base is the base name of the archive.
func (l *Logger) Base() string { return l.opts.Base }

// publish brings the status up to date.
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

// NewVolume begins another volume and returns its number. The reason is that of the event
// NewVolume: pmlogger(1) logs "pmlc request" and "SIGHUP". The error is os.ErrClosed if the logger
// does not run.
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

// Sync has the system write the archive to the disk. Records are in the files without that, as soon
// as they were made.
func (l *Logger) Sync() error {
	l.lock()
	defer l.mu.Unlock()
	if !l.running {
		return os.ErrClosed
	}
	return l.w.Sync()
}

// absolute is the absolute path of an archive, as far as it can be known.
func absolute(base string) string {
	if abs, err := filepath.Abs(base); err == nil {
		return abs
	}
	return base
}
