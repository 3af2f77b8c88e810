package sockdiag

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	inet4    = 2
	sequence = 7
)

// message is a netlink message.
func message(kind uint16, sequence uint32, body ...byte) []byte {
	e := binary.NativeEndian
	b := e.AppendUint32(nil, uint32(headerLength+len(body)))
	b = e.AppendUint16(b, kind)
	b = e.AppendUint16(b, 2)
	b = e.AppendUint32(b, sequence)
	b = e.AppendUint32(b, 1234)
	b = append(b, body...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// socket is the message of a socket, with some attributes.
func socket(family, state byte, attributes ...byte) []byte {
	body := make([]byte, inetSocketLength)
	body[0], body[1] = family, state
	return message(byFamily, sequence, append(body, attributes...)...)
}

// status is the body of the last message of a reply.
func status(code int32) []byte { return binary.NativeEndian.AppendUint32(nil, uint32(code)) }

func join(messages ...[]byte) (all []byte) {
	for _, m := range messages {
		all = append(all, m...)
	}
	return all
}

// of are counts of sockets in some states.
func of(states ...int) (c Counts) {
	for _, s := range states {
		c.Add(s)
	}
	return c
}

// longer sets the length of a message.
func longer(m []byte, n uint32) []byte {
	binary.NativeEndian.PutUint32(m, n)
	return m
}

// TestDecode decodes parts of replies, good ones and damaged ones.
func TestDecode(t *testing.T) {
	done := message(messageDone, sequence, status(0)...)
	for _, tt := range []struct {
		name string
		part []byte
		want Counts
		err  error
	}{
		{"some", join(socket(inet4, 1), socket(inet4, 10, 1, 2, 3), socket(inet4, 1)), of(1, 10, 1), nil},
		{"end", join(socket(inet4, 6), done, socket(inet4, 6)), of(6), errEnd},
		{"only the end", done, of(), errEnd},
		{"nothing", message(messageNone, sequence), of(), nil},
		{"no such protocol", message(messageError, sequence, status(-2)...), of(), fs.ErrNotExist},
		{"no such protocol, at the end", message(messageDone, sequence, status(-2)...), of(), fs.ErrNotExist},
		{"not permitted", message(messageError, sequence, status(-int32(syscall.EPERM))...), of(), fs.ErrPermission},
		{"an error that is none", message(messageError, sequence, status(0)...), of(), errDamaged},
		{"the least number", message(messageDone, sequence, status(math.MinInt32)...), of(), syscall.Errno(1 << 31)},
		{"end without a status", message(messageDone, sequence), of(), errDamaged},
		{"empty", nil, of(), nil},
		{"half a header", done[:headerLength-1], of(), errDamaged},
		{"half a message", socket(inet4, 1)[:50], of(), errDamaged},
		{"cut", join(socket(inet4, 1), socket(inet4, 1)[:80]), of(1), errDamaged},
		{"short socket", message(byFamily, sequence, make([]byte, inetSocketLength-1)...), of(), errDamaged},
		{"another family", socket(10, 1), of(), errDamaged},
		{"unknown state", socket(inet4, States), of(), errDamaged},
		{"another sequence", message(messageDone, sequence+1, status(0)...), of(), errDamaged},
		{"unknown kind", message(99, sequence), of(), errDamaged},
		{"length 0", longer(socket(inet4, 1), 0), of(), errDamaged},
		{"less than a header", longer(socket(inet4, 1), headerLength-1), of(), errDamaged},
		{"the greatest length", longer(socket(inet4, 1), math.MaxUint32), of(), errDamaged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got Counts
			n, err := decode(tt.part, sequence, func(body []byte) bool { return got.add(body, inet4) })
			if n != int(got.All) {
				t.Errorf("%d sockets are said to be %d", got.All, n)
			}
			if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
				t.Errorf("the error is %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// unixSocket is the message of a socket of the Unix domain, with some attributes.
func unixSocket(kind, state byte, attributes ...[]byte) []byte {
	body := make([]byte, unixSocketLength)
	body[0], body[1], body[2] = unixFamily, kind, state
	return message(byFamily, sequence, append(body, join(attributes...)...)...)
}

// numbers is an attribute.
func numbers(kind uint16, list ...uint32) []byte {
	e := binary.NativeEndian
	b := e.AppendUint16(nil, uint16(4+4*len(list)))
	b = e.AppendUint16(b, kind)
	for _, v := range list {
		b = e.AppendUint32(b, v)
	}
	return b
}

// TestDecodeUnix counts sockets of the Unix domain.
func TestDecodeUnix(t *testing.T) {
	const stream, datagram, packets = 1, 2, 5
	const established, closed, listen = 1, 7, 10
	shutdown := append(numbers(6), 0, 0, 0, 0) // with a length that is no multiple of 4
	shutdown[0] = 5
	for _, tt := range []struct {
		name string
		part []byte
		want UnixCounts
		err  error
	}{
		{"kinds", join(unixSocket(datagram, closed), unixSocket(datagram, established), unixSocket(packets, listen), unixSocket(packets, established)), UnixCounts{Datagram: 2}, nil},
		{"states", join(unixSocket(stream, established), unixSocket(stream, established, shutdown), unixSocket(stream, closed)), UnixCounts{Stream: 3, Connected: 2, Unconnected: 1}, nil},
		{"none waits", unixSocket(stream, listen, numbers(queues, 0, 128)), UnixCounts{Stream: 1, Unconnected: 1}, nil},
		{"some wait", unixSocket(stream, listen, shutdown, numbers(queues, 7, 128)), UnixCounts{Stream: 8, Unconnected: 1}, nil},
		{"nobody knows how many wait", unixSocket(stream, listen, shutdown), UnixCounts{Stream: 1, Unconnected: 1}, errDamaged},
		{"short attribute", unixSocket(stream, listen, numbers(queues)), UnixCounts{Stream: 1, Unconnected: 1}, errDamaged},
		{"attribute that is cut", unixSocket(stream, listen, numbers(queues, 7, 128)[:8]), UnixCounts{Stream: 1, Unconnected: 1}, errDamaged},
		{"attribute of length 0", unixSocket(stream, listen, make([]byte, 8), numbers(queues, 7, 128)), UnixCounts{Stream: 1, Unconnected: 1}, errDamaged},
		{"another family", socket(inet4, 1), UnixCounts{}, errDamaged},
		{"short", message(byFamily, sequence, unixSocket(stream, listen)[headerLength:headerLength+unixSocketLength-1]...), UnixCounts{}, errDamaged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got UnixCounts
			if _, err := decode(tt.part, sequence, got.add); err != tt.err {
				t.Errorf("the error is %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// TestRequest: a request has the length that it says, and asks for what it should.
func TestRequest(t *testing.T) {
	e := binary.NativeEndian
	r := appendRequest(nil, sequence, appendInetRequest(nil, inet4, 6))
	if len(r) != 72 || int(e.Uint32(r)) != len(r) || e.Uint32(r[8:]) != sequence {
		t.Errorf("% x", r)
	}
	if r[16] != inet4 || r[17] != 6 || e.Uint32(r[20:]) != 0xffe {
		t.Errorf("% x", r)
	}
	if r := appendRequest(nil, sequence, appendUnixRequest(nil)); len(r) != 40 || r[16] != unixFamily || e.Uint32(r[20:]) != math.MaxUint32 {
		t.Errorf("% x", r)
	}
}

// FuzzDecode: there are at most as many sockets as the part has room for, each in a state,
// and an error is one of the three kinds.
func FuzzDecode(f *testing.F) {
	f.Add(join(socket(inet4, 1), socket(inet4, 10, 1, 2, 3), message(messageDone, sequence, status(0)...)))
	f.Add(join(unixSocket(1, 1), unixSocket(1, 10, numbers(6), numbers(queues, 3, 128)), unixSocket(2, 7)))
	f.Add(message(messageError, sequence, status(-2)...))
	f.Add(longer(socket(inet4, 1), 0))
	f.Add(join(message(messageNone, sequence), socket(inet4, 6)[:70]))
	f.Fuzz(func(t *testing.T, part []byte) {
		var c Counts
		n, err := decode(part, sequence, func(body []byte) bool { return c.add(body, inet4) })
		sum := uint32(0)
		for _, n := range c.State {
			sum += n
		}
		if sum != c.All || n != int(sum) || n > len(part)/(headerLength+inetSocketLength) {
			t.Errorf("%d sockets in %d bytes, %d with a state", c.All, len(part), sum)
		}
		if err != nil && !errors.Is(err, errEnd) && !errors.Is(err, errDamaged) {
			if _, ok := errors.AsType[syscall.Errno](err); !ok {
				t.Error("an error of no kind:", err)
			}
		}
		var u UnixCounts
		n, _ = decode(part, sequence, u.add)
		if n > len(part)/(headerLength+unixSocketLength) || int(u.Connected+u.Unconnected+u.Datagram) > n+1 {
			t.Errorf("%+v in %d bytes", u, len(part))
		}
	})
}
