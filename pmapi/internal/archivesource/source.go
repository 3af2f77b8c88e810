// Package archivesource makes a source of pmapi's contexts from a set of archives.
package archivesource

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
)

// A Mode is how Fetch moves through the archives, by the numbers of pmSetMode(3).
type Mode int

// The modes of archives.
const (
	ModeInterp  Mode = 1 // values at the position, of the records around it
	ModeForward Mode = 2 // the next record with a value
	ModeBack    Mode = 3 // the record before
)

// Options change how values are interpolated. The zero value is what the C library does
// without environment variables.
type Options struct {
	CounterWrap bool // a counter that decreases has passed its greatest value
	// IgnoreMarks is how far apart the records before and after a mark may be that is ignored; 0
	// ignores none.
	IgnoreMarks time.Duration
	PriorValues bool // a number that is not a counter is the value before, not the nearest one
}

// A Source reads a set of archives. See source.Source for what its methods do; SetMode,
// FetchRecord and the like are for one call at a time, too.
type Source struct {
	source.TreeNames
	shared *sharedSet
	opts   Options
	meta   *archive.Metadata
	cursor *archive.Cursor
	seek   bool // the cursor is not at the position yet
	closed atomic.Bool
	turn   ctxwait.Mutex // of requests, nil if another source must not change this one

	req        request
	states     map[pdu.InDom]int // of the domains of values, at the latest fetch
	labelTimes labelTimes
	interp     *interpolator
	w          pdu.ResultWriter
	buf        []byte
	unordered  pdu.Result // values that FetchSets cannot show in the record

	mu       sync.Mutex // guards what follows, for Epoch and Now
	mode     Mode
	position time.Time // origin of pmSetMode(3)
	step     time.Duration
	epoch    source.Epoch
}

// A sharedSet is a set of archives, closed when the last source does not use it any more.
type sharedSet struct {
	*archive.Set

	mu   sync.Mutex
	uses map[*Source]struct{}
}

func (s *sharedSet) use(src *Source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses[src] = struct{}{}
}

func (s *sharedSet) release(src *Source) error {
	s.mu.Lock()
	delete(s.uses, src)
	left := len(s.uses)
	s.mu.Unlock()
	if left > 0 {
		return nil
	}
	return s.Close()
}

// forget drops the metadata of sources without a request in progress after a Refresh. The others
// follow at their next request.
func (s *sharedSet) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for src := range s.uses {
		if src.turn != nil && src.turn.TryLock() {
			src.drop()
			src.turn.Unlock()
		}
	}
}

// New makes a source at the start of a set, in ModeForward. The set is closed together with
// the source and all that are made of it by Dup.
func New(set *archive.Set, opts Options) *Source {
	shared := &sharedSet{Set: set, uses: map[*Source]struct{}{}}
	s := newSource(shared, opts)
	s.mode, s.position = ModeForward, set.Start()
	return s
}

func newSource(shared *sharedSet, opts Options) *Source {
	s := &Source{shared: shared, opts: opts, cursor: shared.Cursor(), states: map[pdu.InDom]int{}}
	s.useMetadata()
	shared.use(s)
	return s
}

// useMetadata begins to use the present metadata of the set.
func (s *Source) useMetadata() {
	s.drop()
	s.meta = s.shared.Metadata()
	s.Tree = s.meta.Names()
	s.interp = newInterpolator(s)
}

// drop drops the metadata and what was made of it.
func (s *Source) drop() {
	s.meta, s.Tree, s.interp = nil, nil, nil
	s.req = request{}
	s.labelTimes = labelTimes{}
}

// SetTurn tells the source which lock its caller holds during requests. From now on, the caller
// calls Follow before each request.
func (s *Source) SetTurn(turn ctxwait.Mutex) {
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	s.turn = turn
}

// Follow begins to use the metadata that another source on the set has read by Reconnect. All
// sources on a set see the same, so that only one copy is in memory.
func (s *Source) Follow() {
	if s.meta == s.shared.Metadata() {
		return
	}
	s.useMetadata()
	s.mu.Lock()
	s.epoch.Names++
	s.epoch.Labels++
	s.mu.Unlock()
}

// Dup opens the same source again.
func (s *Source) Dup(ctx context.Context) (source.Source, error) {
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	d := newSource(s.shared, s.opts)
	d.mode, d.position, d.step = s.mode, s.position, s.step
	d.seek = s.seek
	d.cursor.SetPos(s.cursor.Pos())
	return d, nil
}

// Close closes the source.
func (s *Source) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	return s.shared.release(s)
}

// check is why no request can be made.
func (s *Source) check(ctx context.Context) error {
	switch {
	case s.closed.Load():
		return pdu.ErrNoContext
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return nil
}

// failure is the error of a request: reading a set that is being closed is pdu.ErrNoContext, and
// the end of the log source.ErrEnd.
func (s *Source) failure(err error) error {
	switch {
	case err == nil:
		return nil
	case err == error(pdu.ErrEOL):
		return source.ErrEnd
	case s.closed.Load() && errors.Is(err, fs.ErrClosed):
		return pdu.ErrNoContext
	}
	return err
}

// Reconnect reads what has been recorded since the set was opened. The position stays.
func (s *Source) Reconnect(ctx context.Context) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	if err := s.shared.Refresh(ctx); err != nil {
		return s.failure(err)
	}
	if s.meta != s.shared.Metadata() {
		s.shared.forget()
	}
	s.useMetadata()
	s.mu.Lock()
	s.epoch.Connection++
	s.mu.Unlock()
	return nil
}

// Label is that of the earliest archive.
func (s *Source) Label() archive.Label { return s.shared.Label() }

// End is the time of the last record.
func (s *Source) End() (time.Time, error) {
	t, err := s.shared.End()
	return t, s.failure(err)
}

// Set is the set of archives.
func (s *Source) Set() *archive.Set { return s.shared.Set }

// Mode is the mode, the position and the step.
func (s *Source) Mode() (Mode, time.Time, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mode, s.position, s.step
}

// IsBackwards reports whether each Fetch goes back in time.
func (s *Source) IsBackwards() bool {
	mode, _, step := s.Mode()
	return mode == ModeBack || mode == ModeInterp && step < 0
}

// SetMode sets the mode, the position, which stays if it is the zero time, and the step of
// ModeInterp. Other modes are pdu.ErrMode.
func (s *Source) SetMode(mode Mode, position time.Time, step time.Duration) error {
	if mode != ModeInterp && mode != ModeForward && mode != ModeBack {
		return pdu.ErrMode
	}
	s.mu.Lock()
	s.mode, s.step = mode, step
	if !position.IsZero() {
		s.position = position
	}
	s.epoch.Connection++
	s.mu.Unlock()
	s.seek = true
	s.interp.reset()
	return nil
}

// PlayAt sets the position for values between records, as SetMode with ModeInterp and without a
// step, but begins no new epoch: rates go on.
func (s *Source) PlayAt(position time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode, s.position, s.step = ModeInterp, position, 0
}

// Every prepares for fetches at an interval of archive time: in ModeInterp, from the position on,
// and backward if the mode was so. An interval of 0 or less leaves the mode as it is.
func (s *Source) Every(interval time.Duration) {
	mode, _, step := s.Mode()
	if interval <= 0 {
		return
	}
	if s.IsBackwards() {
		interval = -interval
	}
	if mode != ModeInterp || step != interval {
		_ = s.SetMode(ModeInterp, time.Time{}, interval) // the mode is good
	}
}

// Epoch returns the present epoch.
func (s *Source) Epoch() source.Epoch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch
}

// Now returns the position.
func (s *Source) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.position
}

// moveTo sets the position.
func (s *Source) moveTo(t time.Time) {
	s.mu.Lock()
	s.position = t
	s.mu.Unlock()
}

// Sleep does not wait: it is Fetch that moves the position on.
func (s *Source) Sleep(ctx context.Context, _ time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Store fails: an archive is only read.
func (s *Source) Store(context.Context, *pdu.Result) error { return pdu.ErrNotHost }

// HostName is that of the label.
func (s *Source) HostName(context.Context) (string, error) { return s.shared.Label().Host, nil }
