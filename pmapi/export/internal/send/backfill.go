package send

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/export"
)

// An Encoder makes messages from snapshots. Backfill calls its methods from one goroutine.
type Encoder interface {
	Add(*export.Snapshot) // adds the values of a record
	End()                 // ends all series after the last added record
	Full() bool           // reports whether enough values wait for a message
	Discard()             // forgets the waiting values, as if they had been sent

	// Next returns the next message of the waiting values; ok is false if no values wait.
	Next() (m Message, ok bool)
}

// A run is one Backfill.
type run struct {
	export.BackfillOptions
	reader *export.Reader
	enc    Encoder
	sender *Sender
	known  state     // as it was at the beginning
	events int64     // how many records were added, and marks before them
	upto   time.Time // of the last record that was added
	cancel context.CancelCauseFunc

	state state // of the goroutine that sends
}

// A tag identifies a message as one part of a batch. A batch is everything that waited at one
// time.
type tag struct {
	events int64
	upto   time.Time
	part   int
	last   bool // of its batch
	end    bool // the batch ends all series, with the archive
}

// backfillQueue limits the bytes of waiting messages of an archive. More would not keep the
// receiver busier.
const backfillQueue = 8 << 20

// Backfill sends the archives of r.Context. It uses no directory. It starts at o.From or at the
// start of the archives. The string settings identifies what the messages depend on besides the
// archives and the Reader's names. A file of o.State with other settings is an error.
//
// Backfill returns nil when all has been sent. When ctx ends it tries once more to send the waiting
// messages, and returns the cause. Otherwise it returns the first error of the archives, of the
// state or of the receiver.
func (s *Sender) Backfill(ctx context.Context, r *export.Reader, enc Encoder, settings string, o export.BackfillOptions) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b := &run{BackfillOptions: o, reader: r, enc: enc, sender: s, cancel: cancel}
	if err := b.begin(ctx, settings); err != nil {
		return err
	}
	s.strict, s.done = !o.KeepGoing, b.done
	s.Directory, s.MaxQueue = "", min(cmp.Or(s.MaxQueue, defaultMaxQueue), backfillQueue)
	if err := s.open(); err != nil {
		return err
	}
	var sending sync.WaitGroup
	var refused error
	sending.Go(func() {
		if refused = s.run(ctx); refused != nil {
			cancel(refused)
		}
	})
	err := b.read(ctx)
	s.close()
	sending.Wait()
	switch {
	case refused != nil:
		return refused
	case ctx.Err() != nil:
		return fmt.Errorf("backfill: %w", context.Cause(ctx))
	}
	return err
}

// begin goes to the first record.
func (b *run) begin(ctx context.Context, settings string) error {
	label, err := b.reader.Context.ArchiveLabel()
	if err != nil {
		return fmt.Errorf("backfill: %w", err)
	}
	from := b.From
	if from.IsZero() {
		from = label.Start
	}
	key := append([]string{label.Host, label.Start.UTC().Format(time.RFC3339Nano), from.UTC().Format(time.RFC3339Nano),
		b.sender.Endpoint, b.sender.Protocol, settings}, b.reader.Names...)
	if b.known, err = readState(b.State, key); err != nil {
		return fmt.Errorf("backfill: %w", err)
	}
	b.state = b.known
	if b.From.IsZero() {
		// A record may be before the time in the label.
		return b.reader.Context.SetMode(ctx, pmapi.ModeForward, time.Unix(0, 0), 0)
	}
	return b.reader.Context.SetMode(ctx, pmapi.ModeForward, b.From, 0)
}

// read fills the queue. Records that the receiver has already are encoded as well, so that what
// follows is the same as without an interruption.
func (b *run) read(ctx context.Context) error {
	for {
		s, err := b.reader.ReadRecord(ctx)
		if errors.Is(err, pdu.ErrEOL) {
			return b.end(ctx)
		}
		if err != nil {
			return err
		}
		if !b.To.IsZero() && s.Time.After(b.To) {
			return b.put(ctx, 0, false)
		}
		if s.AfterMark {
			b.enc.End()
			if err := b.event(ctx, true); err != nil {
				return err
			}
		}
		b.sender.warnErrs(s)
		b.enc.Add(s)
		b.upto = s.Time
		if err := b.event(ctx, false); err != nil {
			return err
		}
	}
}

// event counts an addition. When a batch is complete, event puts it into the queue. The batches
// are the same in each run.
func (b *run) event(ctx context.Context, whole bool) error {
	b.events++
	switch {
	case b.events < b.known.Events:
		b.enc.Discard()
	case b.events == b.known.Events:
		b.enc.Discard()
		if !b.upto.Equal(b.known.Upto) {
			return fmt.Errorf("backfill: %s has another time for record %d than the archive: %v, not %v", b.State, b.events, b.known.Upto, b.upto)
		}
	case b.events == b.known.Batch:
		return b.put(ctx, b.known.Parts, false)
	case b.events > b.known.Batch && (whole || b.enc.Full()):
		return b.put(ctx, 0, false)
	}
	return nil
}

// end is for the end of the archive. If it grows, what comes then follows on the last record.
func (b *run) end(ctx context.Context) error {
	if b.events < b.known.Events {
		return fmt.Errorf("backfill: %s is of an archive with more than %d records", b.State, b.events)
	}
	if b.events == b.known.Events && b.known.Ended {
		return nil
	}
	if err := b.put(ctx, 0, false); err != nil {
		return err
	}
	b.enc.End()
	return b.put(ctx, 0, true)
}

// put adds the waiting messages to the queue, except the first ones, which the receiver has.
func (b *run) put(ctx context.Context, but int, end bool) error {
	m, ok := b.enc.Next()
	part := 0
	for ; ok; part++ {
		next, more := b.enc.Next()
		m.Tag = tag{b.events, b.upto, part, !more, end}
		if part >= but {
			if err := b.sender.putWait(ctx, m); err != nil {
				return err
			}
		}
		m, ok = next, more
	}
	if part < but {
		return fmt.Errorf("backfill: %s has %d messages of the records up to %d, and the archive %d", b.State, but, b.events, part)
	}
	return nil
}

// done records that the receiver has a message. The sending goroutine calls it.
func (b *run) done(m Message) {
	t := m.Tag.(tag)
	s := &b.state
	switch {
	case t.last:
		s.Events, s.Upto, s.Batch, s.Parts, s.Ended = t.events, t.upto, 0, 0, t.end
	case t.end:
		return
	default:
		s.Batch, s.Parts = t.events, t.part+1
	}
	if err := s.write(b.State); err != nil {
		b.cancel(fmt.Errorf("state: %w", err))
		return
	}
	if b.Progress != nil && t.last {
		b.Progress(t.upto, b.sender.Stats())
	}
}
