package pdu_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
)

// text is an encoded TEXT of n bytes with a number.
func text(t *testing.T, ident uint32, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := pdu.NewConn(&b).Write(0, pdu.TextReply{Ident: ident, Text: string(make([]byte, n))}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestConnAdmit: a PDU that is not admitted is discarded in any sequence of reads, and the next
// one is read.
func TestConnAdmit(t *testing.T) {
	refusal := errors.New("refused")
	var stream []byte
	lengths := []int{100, 600, 70_000, 300_000, 500, 200}
	for i, n := range lengths {
		stream = append(stream, text(t, uint32(i), n)...)
	}
	for _, chunk := range []int{1, 100, 512, 4096, len(stream)} {
		c := pdu.NewConn(struct {
			io.Reader
			io.Writer
		}{&chunked{stream, chunk}, io.Discard})
		var asked []int
		c.Admit = func(h pdu.Header) error {
			asked = append(asked, h.Len)
			if h.Len > 60_000 {
				return refusal
			}
			return nil
		}
		var got []uint32
		for i := range lengths {
			_, body, err := c.Read()
			var p pdu.TextReply
			switch {
			case errors.Is(err, refusal):
				got = append(got, 1000+uint32(i))
			case err != nil || p.Decode(body) != nil:
				t.Fatalf("chunks of %d, PDU %d: %v", chunk, i, err)
			default:
				got = append(got, p.Ident)
			}
		}
		if diff := cmp.Diff([]uint32{0, 1, 1002, 1003, 4, 5}, got); diff != "" {
			t.Errorf("chunks of %d (-want +got):\n%s", chunk, diff)
		}
		if diff := cmp.Diff([]int{620, 70020, 300020, 520}, asked); diff != "" {
			t.Errorf("chunks of %d: asked for (-want +got):\n%s", chunk, diff)
		}
	}
}

// A chunked is read in pieces.
type chunked struct {
	b []byte
	n int
}

func (c *chunked) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.n)], c.b)
	c.b = c.b[n:]
	return n, nil
}

// TestConnDiscards: discarding a PDU takes no memory.
func TestConnDiscards(t *testing.T) {
	const long = 64 << 20
	head := text(t, 1, 0)[:pdu.HeaderLen]
	binary.BigEndian.PutUint32(head, long)
	stream := io.MultiReader(bytes.NewReader(head), io.LimitReader(zeroes{}, long-pdu.HeaderLen), bytes.NewReader(text(t, 2, 10)))
	c := pdu.NewConn(struct {
		io.Reader
		io.Writer
	}{stream, io.Discard})
	c.Admit = func(pdu.Header) error { return pdu.ErrTooBig }
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := c.Read()
	_, body, err2 := c.Read()
	runtime.ReadMemStats(&after)
	if !errors.Is(err, pdu.ErrTooBig) || err2 != nil || len(body) == 0 {
		t.Errorf("%v, then %v", err, err2)
	}
	if cost := after.TotalAlloc - before.TotalAlloc; cost > 1<<20 && !withRace() { // with the race detector, pools lose what is put there
		t.Errorf("%d bytes were allocated", cost)
	}
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestReadStart: ReadStart returns the start of a PDU, also of one that a Read has begun.
func TestReadStart(t *testing.T) {
	for _, n := range []int{0, 10, 600, 100_000} {
		stream := append(text(t, 1, n), text(t, 2, 10)...)
		for _, first := range []int{0, 5, 13, 40, 300, 700, 60_000} {
			if first > len(stream) {
				continue
			}
			synctest.Test(t, func(t *testing.T) { readStart(t, stream, n, first) })
		}
	}
}

// readStart has the TEXT of n bytes that a stream begins with arrive in two pieces, the first of so
// many bytes. A Read before the second one fails in the middle.
func readStart(t *testing.T, stream []byte, n, first int) {
	near, far := net.Pipe()
	c := pdu.NewConn(near)
	sent := make(chan struct{})
	go func() {
		far.Write(stream[:first])
		sent <- struct{}{}
		<-sent
		far.Write(stream[first:])
	}()
	admitted := 0
	c.Admit = func(pdu.Header) error { admitted++; return nil }
	whole := len(text(t, 1, n))
	if first < whole { // a Read fails in the middle
		near.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		if _, _, err := c.Read(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("%d of %d bytes: %v", first, n, err)
		}
		near.SetReadDeadline(time.Time{})
		<-sent
		sent <- struct{}{}
	} else {
		go func() { <-sent; sent <- struct{}{} }()
	}
	h, start, err := c.ReadStart()
	if err != nil || h.Kind != pdu.KindText || h.Len != whole || len(start) != min(16, whole-pdu.HeaderLen) || start[3] != 1 {
		t.Errorf("%d of %d bytes: %v %x, %v", first, n, h, start, err)
	}
	var p pdu.TextReply
	if _, body, err := c.Read(); err != nil || p.Decode(body) != nil || p.Ident != 2 {
		t.Errorf("%d of %d bytes, the next: %v", first, n, err)
	}
	if admitted > 1 {
		t.Errorf("Admit was called %d times", admitted)
	}
	near.Close()
	far.Close()
}
