package timecontrol

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Command says what a Message is about.
type Command uint32

// The commands, by their numbers in the protocol.
const (
	CommandSet    Command = 1 << iota // a client's source, interval, position, window of time and zone
	CommandStep                       // the server wants a fetch at a position
	CommandZone                       // the zone of times that are printed
	CommandMode                       // the server has stopped, or goes on
	CommandDrag                       // somebody moves the position; no steps meanwhile
	CommandShow                       // a client wants the window of the server to be seen
	CommandHide                       // or not
	CommandBounds                     // the window of time has changed
	CommandAck                        // a client has done a step; the server has understood a CommandSet
)

// String is the name of the command, such as "STEP".
func (c Command) String() string {
	names := [...]string{"SET", "STEP", "TZ", "VCRMODE", "VCRMODE_DRAG", "GUISHOW", "GUIHIDE", "BOUNDS", "ACK"}
	for i, name := range names {
		if c == 1<<i {
			return name
		}
	}
	return "Command(" + strconv.Itoa(int(c)) + ")"
}

// A Source is the kind of source that a client reads from.
type Source int32

// The kinds of sources.
const (
	SourceNone    Source = -1
	SourceHost    Source = 0
	SourceArchive Source = 1
)

// A State is how the position moves.
type State int32

// The states.
const (
	Stopped State = iota
	Forward
	Backward
)

// A Mode is how fast the position moves.
type Mode int32

// The modes.
const (
	ModeStep   Mode = iota // once for each request of a user
	ModeNormal             // as fast as time
	ModeFast               // faster
)

// A Message is one message of the protocol. Times and intervals are in microseconds on the
// connection.
type Message struct {
	Command    Command
	Source     Source
	State      State         // that of a CommandSet means nothing
	Mode       Mode          // that of a CommandSet means nothing
	Delta      time.Duration // the interval
	Position   time.Time
	Start, End time.Time // of the window of an archive
	Zone       string    // in the form of TZ, of CommandSet and CommandZone
	Label      string    // of the zone, such as the name of its host
}

// Limits of messages.
const (
	// MaxClientData is how many bytes of a zone and a label, each with one more at its end, PCP's
	// clients take.
	MaxClientData = 80
	// MaxData is how many of these bytes this package accepts.
	MaxData = 1024
)

// The layout of a message, in the byte order of the computer and with the types of C on a 64-bit
// system, since it does not leave the computer:
//
//	offset  size
//	     0     4  magic
//	     4     4  length, with the data
//	     8     4  command
//	    12     4  source
//	    16     4  state
//	    20     4  mode
//	    24    16  delta: seconds and microseconds
//	    40    16  position
//	    56    16  start
//	    72    16  end
//	    88        data: zone, NUL, label, NUL
const (
	magic     = 0x54494d45
	headerLen = 88
)

var order = binary.NativeEndian

// Append appends the message in the form of the protocol. The error is pdu.ErrTooBig for a zone and
// a label that are longer than MaxData, and pdu.ErrArg if one has a NUL.
func (m *Message) Append(b []byte) ([]byte, error) {
	hasData := m.Command == CommandSet || m.Command == CommandZone || m.Zone != "" || m.Label != ""
	return m.append(b, hasData)
}

// append appends the message, with data or without.
func (m *Message) append(b []byte, hasData bool) ([]byte, error) {
	length := headerLen
	if hasData {
		length += len(m.Zone) + len(m.Label) + 2
	}
	switch {
	case length > headerLen+MaxData:
		return b, fmt.Errorf("timecontrol: time zone %.20q and label %.20q: %w", m.Zone, m.Label, pdu.ErrTooBig)
	case bytes.IndexByte([]byte(m.Zone+m.Label), 0) >= 0:
		return b, fmt.Errorf("timecontrol: time zone %q and label %q: %w", m.Zone, m.Label, pdu.ErrArg)
	}
	for _, v := range [...]uint32{magic, uint32(length), uint32(m.Command), uint32(m.Source), uint32(m.State), uint32(m.Mode)} {
		b = order.AppendUint32(b, v)
	}
	b = order.AppendUint64(b, uint64(m.Delta/time.Second))
	b = order.AppendUint64(b, uint64(m.Delta%time.Second/time.Microsecond))
	for _, t := range [...]time.Time{m.Position, m.Start, m.End} {
		var sec, usec int64
		if !t.IsZero() {
			sec, usec = t.Unix(), int64(t.Nanosecond()/1000)
		}
		b = order.AppendUint64(b, uint64(sec))
		b = order.AppendUint64(b, uint64(usec))
	}
	if hasData {
		b = append(b, m.Zone...)
		b = append(b, 0)
		b = append(b, m.Label...)
		b = append(b, 0)
	}
	return b, nil
}

// messageLen is the length of the message that a header begins.
func messageLen(header []byte) (int, error) {
	length := order.Uint32(header[4:])
	if got := order.Uint32(header); got != magic {
		return 0, fmt.Errorf("timecontrol: magic number 0x%x: %w", got, pdu.ErrIPC)
	}
	if length < headerLen || length > headerLen+MaxData {
		return 0, fmt.Errorf("timecontrol: message of %d bytes: %w", length, pdu.ErrIPC)
	}
	return int(length), nil
}

// Decode decodes the message that b is as a whole. A message that breaks the protocol is
// pdu.ErrIPC, and leaves m as it was.
func (m *Message) Decode(b []byte) error {
	if len(b) < headerLen {
		return fmt.Errorf("timecontrol: message of %d bytes: %w", len(b), pdu.ErrIPC)
	}
	length, err := messageLen(b)
	if err == nil && length != len(b) {
		err = fmt.Errorf("timecontrol: message of %d bytes has length %d: %w", len(b), length, pdu.ErrIPC)
	}
	if err != nil {
		return err
	}
	word := func(at int) int32 { return int32(order.Uint32(b[at:])) }
	d := Message{Command: Command(word(8)), Source: Source(word(12)), State: State(word(16)), Mode: Mode(word(20))}
	if d.Delta, err = decodeDelta(b[24:]); err != nil {
		return err
	}
	for i, t := range [...]*time.Time{&d.Position, &d.Start, &d.End} {
		if *t, err = decodeTime(b[40+16*i:]); err != nil {
			return err
		}
	}
	if data := b[headerLen:]; len(data) > 0 {
		zone, rest, ok := bytes.Cut(data, []byte{0})
		label, rest, ok2 := bytes.Cut(rest, []byte{0})
		if !ok || !ok2 || len(rest) > 0 {
			return fmt.Errorf("timecontrol: %v has %q in the place of a time zone and a label: %w", d.Command, data, pdu.ErrIPC)
		}
		d.Zone, d.Label = string(zone), string(label)
	}
	*m = d
	return nil
}

// decodePair decodes seconds and microseconds.
func decodePair(b []byte) (sec, usec int64, err error) {
	sec, usec = int64(order.Uint64(b)), int64(order.Uint64(b[8:]))
	if usec <= -1e6 || usec >= 1e6 {
		err = fmt.Errorf("timecontrol: %d microseconds: %w", usec, pdu.ErrIPC)
	}
	return sec, usec, err
}

func decodeDelta(b []byte) (time.Duration, error) {
	const most = math.MaxInt64/int64(time.Second) - 1
	sec, usec, err := decodePair(b)
	if err == nil && (sec > most || sec < -most) {
		err = fmt.Errorf("timecontrol: interval of %d seconds: %w", sec, pdu.ErrIPC)
	}
	if err != nil {
		return 0, err
	}
	return time.Duration(sec)*time.Second + time.Duration(usec)*time.Microsecond, nil
}

// maxSeconds is the greatest time that is accepted: beyond are no times of package time.
const maxSeconds = 1 << 55

func decodeTime(b []byte) (time.Time, error) {
	sec, usec, err := decodePair(b)
	if err == nil && (sec > maxSeconds || sec < -maxSeconds) {
		err = fmt.Errorf("timecontrol: time of %d seconds: %w", sec, pdu.ErrIPC)
	}
	if err != nil || sec == 0 && usec == 0 {
		return time.Time{}, err
	}
	return time.Unix(sec, usec*1000), nil
}
