// Package tracewire has the protocol between applications and PCP's trace agent. An application
// sends Data over TCP. The agent sends an Ack when it accepts a connection, and one for each Data
// that asks for it.
package tracewire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/pcp-go/pcp/internal/wire"
)

// Version is the version of the protocol, which the first Ack of a connection
// and every Data carry.
const Version = 1

const (
	// MaxTag is the longest tag that fits a PDU, in bytes with its NUL.
	MaxTag = maxPDU - dataHeader

	SyncOffset = 15   // of the byte with the SyncBit in a Data
	SyncBit    = 0x80 // asks for an Ack

	minPDU = 16  // an Ack
	maxPDU = 272 // PDUs of any other length are malformed

	headerLen  = 12 // length, type, process id
	dataHeader = 24 // of a DATA PDU, before the tag

	typeAck  = 0x7050
	typeData = 0x7051
)

// A Kind says what a Data reports. Each kind has separate tags: one tag may be used with several
// kinds.
type Kind uint8

// The kinds, by their numbers on the wire.
const (
	KindTransaction Kind = 1 // a piece of work that took Value seconds
	KindPoint       Kind = 2 // a point of the program was passed; Value is -1
	KindObservation Kind = 3 // Value was observed
	KindCounter     Kind = 4 // a counter of the application stands at Value
)

// String is the kind's name in lower case.
func (k Kind) String() string {
	switch k {
	case KindTransaction:
		return "transaction"
	case KindPoint:
		return "point"
	case KindObservation:
		return "observation"
	case KindCounter:
		return "counter"
	}
	return "kind " + strconv.Itoa(int(k))
}

// An Ack is the PDU that agents send: one when they accept or refuse a
// connection, and one for each Data that asks for it.
//
//	 0  uint32  16, the length
//	 4  uint32  0x7050
//	 8  uint32  From
//	12  int32   Code
type Ack struct {
	From int32 // process id of the sender, for information
	Code int32 // Version on accept; the Kind of the acknowledged Data; or a trace.Error, less than 0
}

// Append appends the PDU to b.
func (a Ack) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, minPDU)
	b = binary.BigEndian.AppendUint32(b, typeAck)
	b = binary.BigEndian.AppendUint32(b, uint32(a.From))
	return binary.BigEndian.AppendUint32(b, uint32(a.Code))
}

// A Data is the PDU that applications send.
//
//	 0  uint32  length, a multiple of 4
//	 4  uint32  0x7051
//	 8  uint32  From
//	12  uint8   Version
//	13  uint8   length of the tag with its NUL
//	14  uint8   Kind
//	15  uint8   bit 7: Sync
//	16  double  Value
//	24  bytes   Tag, NUL, padding
type Data struct {
	From  int32 // process id of the sender, for information
	Kind  Kind
	Sync  bool // the sender waits for an Ack
	Value float64
	Tag   []byte // without the NUL at its end; agents use it as the name of an instance
}

// Append appends the PDU to b. It fails if the Tag does not fit into a PDU. Not every agent accepts
// tags of more than trace.MaxTag bytes.
func (d Data) Append(b []byte) ([]byte, error) {
	if len(d.Tag) >= MaxTag {
		return b, fmt.Errorf("trace: tag of %d bytes, limit %d", len(d.Tag), MaxTag-1)
	}
	return AppendData(b, d, d.Tag), nil
}

// DataLen is the length of a Data with a tag of n bytes.
func DataLen(n int) int { return dataHeader + wire.Pad4(n+1) }

// AppendData is Data.Append for a tag of either type. The caller has checked the length of the tag.
func AppendData[T []byte | string](b []byte, d Data, tag T) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(DataLen(len(tag))))
	b = binary.BigEndian.AppendUint32(b, typeData)
	b = binary.BigEndian.AppendUint32(b, uint32(d.From))
	var sync byte
	if d.Sync {
		sync = SyncBit
	}
	b = append(b, Version, byte(len(tag)+1), byte(d.Kind), sync)
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(d.Value))
	b = append(b, tag...)
	return append(b, "\x00~~~"[:wire.Pad4(len(tag)+1)-len(tag)]...)
}

// decoderSize is how much a Decoder reads at once: the PDUs of a busy sender
// come with few calls.
const decoderSize = 4096

// A Decoder splits a stream of bytes into PDUs, however the stream is cut into
// reads. One goroutine at a time.
type Decoder struct {
	r    io.Reader
	b    [decoderSize]byte
	i, n int // b[i:n] is read and not decoded
	err  error
}

// NewDecoder returns a Decoder of the bytes that r yields.
func NewDecoder(r io.Reader) *Decoder { return &Decoder{r: r} }

// Data returns the next PDU, which must be a Data. Its Tag is valid until the
// next call. A malformed PDU is an error that wraps ErrMalformed. Each later call returns the same
// error, so the connection must be closed. The end of the stream is io.EOF between PDUs and
// io.ErrUnexpectedEOF within one. After an error of the reader, such as a time-out, a call goes on
// where the earlier one stopped.
func (d *Decoder) Data() (Data, error) {
	body, from, err := d.next(typeData, dataHeader)
	if err != nil {
		return Data{}, err
	}
	data, err := decodeData(body)
	if err != nil {
		d.err = malformed(err)
		return Data{}, d.err
	}
	data.From = from
	return data, nil
}

// Ack returns the next PDU, which must be an Ack. Errors are those of Data.
func (d *Decoder) Ack() (Ack, error) {
	body, from, err := d.next(typeAck, minPDU)
	if err != nil {
		return Ack{}, err
	}
	c := wire.New(body, headerLen)
	a := Ack{From: from, Code: c.Int32("data")}
	if err := c.Done(); err != nil {
		d.err = malformed(err)
		return Ack{}, d.err
	}
	return a, nil
}

// Buffered reports whether a whole PDU, or a malformed one, has been read
// already, so that the next call does not read. An agent may collect its
// answers until it is false.
func (d *Decoder) Buffered() bool {
	n, err := d.pduLen()
	return err != nil || n > 0 && d.n-d.i >= n
}

// next reads a PDU of the type want and of at least least bytes. It returns
// what follows the header.
func (d *Decoder) next(want uint32, least int) (body []byte, from int32, err error) {
	for {
		n, err := d.pduLen()
		if err != nil {
			return nil, 0, err
		}
		if n > 0 && d.n-d.i >= n {
			p := d.b[d.i : d.i+n : d.i+n]
			if err := d.check(p, want, least); err != nil {
				return nil, 0, err
			}
			d.i += n
			return p[headerLen:], int32(binary.BigEndian.Uint32(p[8:])), nil
		}
		if err := d.fill(); err != nil {
			return nil, 0, err
		}
	}
}

// pduLen is the length of the PDU that starts at i, 0 if its length word is not here yet.
func (d *Decoder) pduLen() (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	if d.n-d.i < 4 {
		return 0, nil
	}
	n := binary.BigEndian.Uint32(d.b[d.i:])
	if n < minPDU || n > maxPDU {
		d.err = malformed(&wire.Error{Field: "length", Problem: fmt.Sprintf("%d is not in %d..%d", n, minPDU, maxPDU)})
		return 0, d.err
	}
	return int(n), nil
}

// check is about type and length, where they depend on each other.
func (d *Decoder) check(p []byte, want uint32, least int) error {
	if got := binary.BigEndian.Uint32(p[4:]); got != want {
		d.err = malformed(&wire.Error{Field: "type", Offset: 4, Problem: fmt.Sprintf("%#x, want %#x", got, want)})
	} else if len(p) < least {
		d.err = malformed(&wire.Error{Field: "length", Problem: fmt.Sprintf("%d is less than %d", len(p), least)})
	}
	return d.err
}

// fill reads once.
func (d *Decoder) fill() error {
	if d.i > 0 {
		d.n = copy(d.b[:], d.b[d.i:d.n])
		d.i = 0
	}
	n, err := d.r.Read(d.b[d.n:])
	d.n += n
	switch {
	case n > 0:
		return nil // an error comes again
	case err == io.EOF && d.n > 0:
		return io.ErrUnexpectedEOF
	}
	return err
}

// decodeData decodes what follows the header. Bytes after the tag are ignored,
// and the tag may lack its NUL: the C agent is as lenient.
func decodeData(body []byte) (Data, error) {
	c := wire.New(body, headerLen)
	if v := c.Uint8("version"); v != Version {
		c.Fail("version", 1, "%d, want %d", v, Version)
	}
	n := int(c.Uint8("tag length"))
	if n < 1 || n > MaxTag {
		c.Fail("tag length", 1, "%d is not in 1..%d", n, MaxTag)
	}
	d := Data{Kind: Kind(c.Uint8("kind"))}
	if d.Kind < KindTransaction || d.Kind > KindCounter {
		c.Fail("kind", 1, "%d is not in %d..%d", d.Kind, KindTransaction, KindCounter)
	}
	d.Sync = c.Uint8("protocol")&SyncBit != 0
	d.Value = math.Float64frombits(c.Uint64("value"))
	d.Tag = c.Bytes(n, "tag")
	if err := c.Err(); err != nil {
		return Data{}, err
	}
	if d.Tag[n-1] == 0 {
		d.Tag = d.Tag[:n-1]
	}
	return d, nil
}

// ErrMalformed says that a PDU breaks the rules of the protocol. It has the text of trace.ErrIPC.
var ErrMalformed = errors.New("IPC protocol failure")

func malformed(err error) error {
	return fmt.Errorf("trace: malformed PDU: %w (%w)", ErrMalformed, err)
}
