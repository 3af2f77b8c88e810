package pmtop

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
)

// A show is the view on a terminal.
type show struct {
	*view
	term    *terminal.Terminal
	sampler *sampler
	samples int // still to be shown; -1 for any number

	sample  *sample   // that is shown; empty before the first
	at      time.Time // the position in an archive
	begin   time.Time // of an archive
	end     time.Time
	timer   *time.Timer  // for the next sample
	reading bool         // a sample is being read
	results chan reading // what has been read
	pending func(context.Context) (*sample, error)
}

// A reading is a sample, or the error of reading one.
type reading struct {
	sample *sample
	err    error
}

const (
	shortest = 100 * time.Millisecond // interval that a key makes
	longest  = 24 * time.Hour
	firstGap = 500 * time.Millisecond // at most, from the first sample to the second, without which there are no rates
)

// show shows samples on the terminal until the user quits.
func (c *Command) show(ctx context.Context, s *sampler, v *view) error {
	term, err := terminal.Open(os.Stdin, os.Stdout)
	if err != nil {
		return c.Errorf("%w", err)
	}
	defer term.Close()
	w := &show{view: v, term: term, sampler: s, samples: c.SampleCount(c.Interval), sample: &sample{at: time.Now(), host: s.host}, at: c.Origin, begin: c.Begin, end: c.End,
		timer: time.NewTimer(0), results: make(chan reading, 1)}
	for i := range w.sample.memory {
		w.sample.memory[i] = unknown
	}
	defer w.timer.Stop()
	// A pending request must end before the context is closed.
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		if w.reading {
			<-w.results
		}
	}()
	return w.run(ctx)
}

// run handles keys, the time of the next sample, results of readings, and changes of the screen's
// size.
func (w *show) run(ctx context.Context) error {
	for {
		if err := w.draw(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case key, ok := <-w.term.Keys():
			if !ok || !w.press(ctx, key) {
				return nil
			}
		case <-w.timer.C:
			if !w.paused {
				w.start(ctx, w.next())
			}
		case r := <-w.results:
			w.reading = false
			if !w.handleReading(ctx, r) {
				return nil
			}
		case <-w.term.Resized():
		}
	}
}

// next returns the function that reads the next sample.
func (w *show) next() func(context.Context) (*sample, error) {
	if w.sampler.archive {
		return w.seek(w.at)
	}
	return w.sampler.next
}

// seek returns the function that reads the sample of a time in an archive.
func (w *show) seek(at time.Time) func(context.Context) (*sample, error) {
	if at.After(w.end) && !w.end.IsZero() {
		at = w.end
	}
	if at.Before(w.begin) {
		at = w.begin
	}
	w.at = at
	interval := w.interval
	return func(ctx context.Context) (*sample, error) {
		w.sampler.interval = interval
		return w.sampler.seek(ctx, at)
	}
}

// start starts a reading. During another reading it only records the latest request.
func (w *show) start(ctx context.Context, read func(context.Context) (*sample, error)) {
	if w.reading {
		w.pending = read
		return
	}
	w.reading, w.pending = true, nil
	go func() {
		defer w.term.CloseOnPanic()
		s, err := read(ctx)
		w.results <- reading{s, err}
	}()
}

// handleReading shows a reading and schedules the next one. It returns false after the last sample.
func (w *show) handleReading(ctx context.Context, r reading) bool {
	wait := w.interval
	switch {
	case r.err == nil:
		if len(w.sample.tables) == 0 && !w.sampler.archive {
			wait = min(wait, firstGap)
		}
		w.sample, w.message = r.sample, ""
		if w.samples > 0 {
			w.samples--
		}
	case errors.Is(r.err, pdu.ErrEOL):
		w.message, w.paused = "the archive ends here", true
	default:
		w.message = terminal.EscapeName(r.err.Error())
	}
	if w.pending != nil {
		w.start(ctx, w.pending)
		return true
	}
	if w.sampler.archive && !w.paused {
		if w.at.Equal(w.end) {
			w.message, w.paused = "the archive ends here", true
		}
		w.at = w.at.Add(w.interval)
	}
	w.timer.Reset(wait)
	return w.samples != 0
}

// press handles a key. It returns false for keys that quit.
func (w *show) press(ctx context.Context, key terminal.Key) bool {
	switch key {
	case 'q', 'Q', terminal.KeyInterrupt:
		return false
	case terminal.KeySuspend:
		if err := w.term.Suspend(); err != nil {
			return false
		}
	case terminal.KeyRedraw:
		w.term.Redraw()
	case 'h', '?':
		w.help = !w.help
	case terminal.KeyEscape:
		w.help, w.zoom = false, ""
	case ' ':
		w.pause()
	case '+', '=':
		w.setInterval(min(2*w.interval, longest))
	case '-':
		w.setInterval(max(w.interval/2, shortest))
	case terminal.KeyUp:
		w.scroll = max(0, w.scroll-1)
	case terminal.KeyDown:
		w.scroll++
	case terminal.KeyPageUp:
		w.scroll = max(0, w.scroll-w.page())
	case terminal.KeyPageDown:
		w.scroll += w.page()
	default:
		if key >= '0' && key <= '9' {
			w.choose(int(key - '0'))
		} else if w.sampler.archive {
			w.move(ctx, key)
		}
	}
	return true
}

func (w *show) page() int {
	_, height := w.term.Size()
	return max(1, height-4)
}

// pause pauses, or continues at once.
func (w *show) pause() {
	w.paused = !w.paused
	if !w.paused {
		w.message = ""
		w.timer.Reset(0)
	}
}

func (w *show) setInterval(d time.Duration) {
	w.interval = d
	if !w.paused {
		w.timer.Reset(d)
	}
}

// choose shows one section or all of them.
func (w *show) choose(number int) {
	width, _ := w.term.Size()
	sections := w.sample.sections(width)
	w.zoom, w.scroll, w.help = "", 0, false
	if number > 0 && number <= len(sections) {
		w.zoom = sections[number-1].title
	}
}

// move moves to another time of an archive and pauses.
func (w *show) move(ctx context.Context, key terminal.Key) {
	shown := w.sample.at
	switch key {
	case terminal.KeyLeft:
		shown = shown.Add(-w.interval)
	case terminal.KeyRight:
		shown = shown.Add(w.interval)
	case '<', ',':
		shown = shown.Add(-10 * w.interval)
	case '>', '.':
		shown = shown.Add(10 * w.interval)
	case terminal.KeyHome:
		shown = w.begin
	case terminal.KeyEnd:
		shown = w.end
	default:
		return
	}
	w.paused, w.message = true, ""
	w.start(ctx, w.seek(shown))
}

// draw draws the view.
func (w *show) draw() error {
	width, height := w.term.Size()
	var lines [][]byte
	for _, l := range w.lines(w.sample, width, height) {
		lines = append(lines, l.appendTo(nil, width, true))
	}
	return w.term.Draw(lines)
}
