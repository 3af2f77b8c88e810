// Package backfill sends archives to receivers of metrics: each record once, in order, with its
// original time. It is the common part of remotewrite.Exporter.Backfill and otlp.Exporter.Backfill,
// which programs call:
//
//	c, err := pmapi.Open(ctx, "/var/log/pcp/pmlogger/web1") // a directory of archives
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	e := &remotewrite.Exporter{
//		Reader:   &export.Reader{Context: c, Names: []string{"kernel", "disk"}},
//		Endpoint: "http://localhost:9090/api/v1/write",
//	}
//	return e.Backfill(ctx, backfill.Options{State: "web1.sent"})
//
// # Continue after an interruption
//
// With Options.State, a file remembers how much the receiver has accepted. The next Backfill with
// the same file continues after the last accepted record, also if the archive has grown. It must
// have the same archive, receiver, metrics and From. Messages that were being sent when a program
// was killed are sent again without change.
//
// # Send a part
//
// Options.From and Options.To limit the time, and Reader.Names the metrics. Derived metrics are not
// in records and are left out. The log names those that Reader.Names ask for.
//
// # If the receiver refuses
//
// Backfill ends at the first message that the receiver refuses. With Options.KeepGoing it skips the
// message and counts it as failed. A receiver that is away is retried until ctx ends.
//
// # Marks
//
// A mark in an archive means that recording was interrupted. All series end there and start again
// with the next record that has them.
//
// # Another protocol
//
// A program that implements an Encoder for another protocol calls Run with a send.Sender.
package backfill

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/send"
)

// Options select the part of an archive and say what to do about refusals and interruptions. The
// zero value sends the whole archive.
type Options struct {
	// From and To limit the times of records, both inclusive. The zero time is the start or the end
	// of the archive.
	From, To time.Time

	// State names a file that remembers how much the receiver has accepted. A later Backfill with
	// the same file, archive, receiver, metrics and From continues after that. The archive may have
	// grown and To may be later. "" means to start from the beginning.
	State string

	// KeepGoing skips messages that the receiver refuses and counts them as failed. Without it the
	// first refusal is an error, and the file of State says that the message is not yet sent.
	KeepGoing bool

	// Progress, if not nil, is called when the receiver has accepted all records up to a time. It
	// must return quickly.
	Progress func(upto time.Time, s send.Stats)
}

// An Encoder makes messages from snapshots. Run calls its methods from one goroutine.
type Encoder interface {
	Add(*export.Snapshot) // adds the values of a record
	End()                 // ends all series after the last added record
	Full() bool           // reports whether enough values wait for a message
	Discard()             // forgets the waiting values, as if they had been sent

	// Next returns the next message of the waiting values; ok is false if no values wait.
	Next() (m send.Message, ok bool)
}

// A run is one Backfill.
type run struct {
	Options
	reader *export.Reader
	enc    Encoder
	sender *send.Sender
	known  state     // as it was at the beginning
	events int64     // how many records were added, and marks before them
	upto   time.Time // of the last record that was added
	cancel context.CancelCauseFunc

	state state // of the goroutine that sends
}

// A tag tells which part of a batch, which is what waited at one time, a message is.
type tag struct {
	events int64
	upto   time.Time
	part   int
	last   bool // of its batch
	end    bool // the batch ends all series, with the archive
}

// Run sends the archives of r.Context with s, which must not be open yet. It starts at o.From or at
// the start of the archives. The strings in key identify what the messages depend on besides the
// archives, such as the Reader's names; a file of Options.State with another key is an error.
//
// Run returns nil when all has been sent. When ctx ends it tries once more to send what waits, and
// returns the cause. Else it returns the first error of the archives, of the state or of the
// receiver.
func Run(ctx context.Context, r *export.Reader, enc Encoder, s *send.Sender, key []string, o Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b := &run{Options: o, reader: r, enc: enc, sender: s, cancel: cancel}
	if err := b.begin(ctx, key); err != nil {
		return err
	}
	s.Strict, s.Done = !o.KeepGoing, b.done
	if err := s.Open(); err != nil {
		return err
	}
	var sending sync.WaitGroup
	var refused error
	sending.Go(func() {
		if refused = s.Run(ctx); refused != nil {
			cancel(refused)
		}
	})
	err := b.read(ctx)
	s.Close()
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
func (b *run) begin(ctx context.Context, key []string) error {
	label, err := b.reader.Context.ArchiveLabel()
	if err != nil {
		return fmt.Errorf("backfill: %w", err)
	}
	from := b.From
	if from.IsZero() {
		from = label.Start
	}
	key = append([]string{label.Host, label.Start.UTC().Format(time.RFC3339Nano), from.UTC().Format(time.RFC3339Nano), b.sender.Endpoint}, key...)
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
		b.sender.WarnErrs(s)
		b.enc.Add(s)
		b.upto = s.Time
		if err := b.event(ctx, false); err != nil {
			return err
		}
	}
}

// event counts what was added, and puts what waits into the queue if it is time to. Batches are the
// same in each run.
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

// put puts all that waits into the queue, but for the first messages, which the receiver has.
func (b *run) put(ctx context.Context, but int, end bool) error {
	m, ok := b.enc.Next()
	part := 0
	for ; ok; part++ {
		next, more := b.enc.Next()
		m.Tag = tag{b.events, b.upto, part, !more, end}
		if part >= but {
			if err := b.sender.PutWait(ctx, m); err != nil {
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

// done notes what the receiver has. It is called by the goroutine that sends.
func (b *run) done(m send.Message) {
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
