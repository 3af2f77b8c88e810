package pdu_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pcp-go/pcp/pdu"
)

// A frame is what Read returned.
type frame struct {
	Header pdu.Header
	Body   string // which cmp compares faster
}

// readAll reads until an error.
func readAll(c *pdu.Conn) (frames []frame, err error) {
	for {
		h, body, err := c.Read()
		if err != nil {
			return frames, err
		}
		frames = append(frames, frame{h, string(body)})
	}
}

// readWriter is a stream with another way to read.
type readWriter struct {
	io.Reader
	io.Writer
}

// sizedFrames are PDUs of lengths around the bounds inside Conn.
func sizedFrames() (wire []byte, want []frame) {
	for i, n := range []int{12, 13, 16, 511, 512, 513, 514, 1023, 1024, 1025, 12, 65535, 65536, 65537, 200_000, 12, 400, 400, 12} {
		body := make([]byte, n-pdu.HeaderLen)
		for j := range body {
			body[j] = byte(i + j)
		}
		want = append(want, frame{pdu.Header{Len: n, Kind: pdu.KindAttr, From: int32(-i)}, string(body)})
		wire = append(wire, byte(n>>24), byte(n>>16), byte(n>>8), byte(n), 0, 0, 0x70, 0x11)
		f := uint32(-int32(i))
		wire = append(wire, byte(f>>24), byte(f>>16), byte(f>>8), byte(f))
		wire = append(wire, body...)
	}
	return wire, want
}

// readers delivers the same bytes in different ways.
var readers = map[string]func(io.Reader) io.Reader{
	"as they are":          func(r io.Reader) io.Reader { return r },
	"one byte at a time":   iotest.OneByteReader,
	"half of what fits":    iotest.HalfReader,
	"with the end":         iotest.DataErrReader,
	"by one, with the end": func(r io.Reader) io.Reader { return iotest.DataErrReader(iotest.OneByteReader(r)) },
}

func TestConnRead(t *testing.T) {
	wire, want := sizedFrames()
	for name, reader := range readers {
		for _, eager := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", eager ", eager), func(t *testing.T) { testConnRead(t, reader(bytes.NewReader(wire)), eager, want) })
		}
	}
}

func testConnRead(t *testing.T, in io.Reader, eager bool, want []frame) {
	partial := 0
	c := pdu.NewConn(readWriter{in, io.Discard})
	c.Eager = eager
	c.Partial = func(waiting bool) {
		if waiting {
			partial++
		} else {
			partial--
		}
		if partial < 0 || partial > 1 {
			t.Errorf("Partial(%v) out of turn", waiting)
		}
	}
	got, err := readAll(c)
	if err != io.EOF {
		t.Errorf("error %v, want io.EOF as it is", err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if partial != 0 {
		t.Errorf("Partial is not over")
	}
}

// TestConnReadEOF ends the stream at every place of two PDUs, a small and a large one.
func TestConnReadEOF(t *testing.T) {
	small := unhex(t, `00000014 0000700c 0000751e 00000001 01020000`)
	large := append(unhex(t, `00000400 00007011 00000000 00000000`), make([]byte, 1008)...)
	wire := append(bytes.Clone(small), large...)
	for n := range len(wire) + 1 {
		var waiting bool
		c := pdu.NewConn(newStream(wire[:n]))
		c.Partial = func(w bool) { waiting = w }
		frames, err := readAll(c)
		want, count := io.ErrUnexpectedEOF, 1
		switch n {
		case 0, len(small), len(wire):
			want = io.EOF
		}
		switch {
		case n < len(small):
			count = 0
		case n == len(wire):
			count = 2
		}
		if !errors.Is(err, want) || len(frames) != count {
			t.Fatalf("end after %d bytes: %d PDUs and %v, want %d and %v", n, len(frames), err, count, want)
		}
		if waiting {
			t.Fatalf("end after %d bytes: still waiting", n)
		}
		if _, _, again := c.Read(); again == nil {
			t.Fatalf("end after %d bytes: read on", n)
		}
	}
}

// TestConnReadError: Read returns the stream's own errors.
func TestConnReadError(t *testing.T) {
	for name, wire := range map[string]string{
		"before": ``, "in a header": `00000014 0000`, "in a body": `00000014 0000700c 0000751e 0000`,
		"in a large body": `00000400 00007011 00000000 00000000 000000`,
	} {
		c := pdu.NewConn(readWriter{io.MultiReader(bytes.NewReader(unhex(t, wire)), iotest.ErrReader(iotest.ErrTimeout)), io.Discard})
		if _, _, err := c.Read(); !errors.Is(err, iotest.ErrTimeout) || breaksProtocol(err) {
			t.Errorf("%s: %v, want %v", name, err, iotest.ErrTimeout)
		}
	}
}

// TestOpErrorTimeout: an OpError is a timeout if its cause is one, at any depth.
func TestOpErrorTimeout(t *testing.T) {
	for _, tt := range []struct {
		cause error
		want  bool
	}{
		{os.ErrDeadlineExceeded, true},
		{fmt.Errorf("stream: %w", os.ErrDeadlineExceeded), true},
		{io.ErrUnexpectedEOF, false},
		{pdu.ErrIPC, false},
		{pdu.ErrTimeout, true},
	} {
		if got := (&pdu.OpError{Op: "read", Err: tt.cause}).Timeout(); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.cause, got, tt.want)
		}
	}
}

func TestConnReadRefuses(t *testing.T) {
	tests := []struct {
		name, wire string
		maxLen     int
		want       error
		text       string
	}{
		{"length 0", `00000000 00007000 00000000`, 0, pdu.ErrIPC, "pdu: read ERROR: length below that of a header: IPC protocol failure"},
		{"length 11", `0000000b 00007000 00000000`, 0, pdu.ErrIPC, "pdu: read ERROR: length below that of a header: IPC protocol failure"},
		{"negative length", `ffffffff 00007000 00000000`, 0, pdu.ErrIPC, "pdu: read ERROR: length below that of a header: IPC protocol failure"},
		{"least length", `80000000 00007000 00000000`, 0, pdu.ErrIPC, "pdu: read ERROR: length below that of a header: IPC protocol failure"},
		{"negative type", `00000010 80000000 00000000 00000000`, 0, pdu.ErrIPC, "pdu: read TYPE--2147483648?: negative type: IPC protocol failure"},
		{"greatest length", `7fffffff 00007003 00000000`, 0, pdu.ErrTooBig, "pdu: read FETCH: Result size exceeded"},
		{"one above the greatest", `7ffffc00 00007003 00000000`, 0, pdu.ErrTooBig, "pdu: read FETCH: Result size exceeded"},
		{"above the ceiling", `00010001 00007003 00000000`, 65536, pdu.ErrTooBig, "pdu: read FETCH: Result size exceeded"},
		{"above a low ceiling", `00000011 00007003 00000000`, 16, pdu.ErrTooBig, "pdu: read FETCH: Result size exceeded"},
		{"at the ceiling", `00000010 00007000 00000000 00000000`, 16, nil, ""},
		{"unknown type", `0000000c 7fffffff 00000000`, 0, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := pdu.NewConn(newStream(unhex(t, tt.wire)))
			c.MaxLen = tt.maxLen
			c.Counters = new(pdu.Counters)
			h, body, err := c.Read()
			if !errors.Is(err, tt.want) || err == nil != (tt.want == nil) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if err == nil {
				return
			}
			if err.Error() != tt.text || !breaksProtocol(err) || body != nil {
				t.Errorf("error %q with %d bytes, want %q", err, len(body), tt.text)
			}
			if in, _ := c.Counters.Total(); in != 0 {
				t.Errorf("%d PDUs counted", in)
			}
			if tt.want == pdu.ErrTooBig && h.Len == 0 {
				t.Error("no header")
			}
			if _, _, again := c.Read(); again == nil || again.Error() != err.Error() {
				t.Errorf("then %v, want the same error", again)
			}
		})
	}
}

// TestConnReadAllocates: Read does not allocate for a claimed length before the bytes arrive.
func TestConnReadAllocates(t *testing.T) {
	for _, sent := range []int{0, 1000, 100_000} {
		wire := append(unhex(t, `7ffffbff 00007001 00000000`), make([]byte, sent)...)
		n := allocated(func() {
			if _, _, err := pdu.NewConn(newStream(wire)).Read(); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("error %v", err)
			}
		})
		if limit := uint64(4*sent + 1<<17); n > limit {
			t.Errorf("%d bytes sent of 2 GiB announced: %d bytes allocated, limit %d", sent, n, limit)
		}
	}
}

// allocated is how many bytes f allocates, about.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// countReader counts reads.
type countReader struct {
	io.Reader
	n int
}

func (r *countReader) Read(p []byte) (int, error) { r.n++; return r.Reader.Read(p) }

// TestConnEager: an eager reader gets a large PDU, and a PDU before it, with one read once it
// knows their lengths.
func TestConnEager(t *testing.T) {
	large := append(unhex(t, `00004e20 00007011 00000000 00000000`), make([]byte, 20000-16)...)
	small := unhex(t, `00000010 00007000 00000000 00000000`)
	for _, tt := range []struct {
		name    string
		eager   bool
		reads   []int // of each arrival
		arrival [][]byte
	}{
		{"not eager", false, []int{2, 2, 1}, [][]byte{large, large, small}},
		{"eager", true, []int{2, 1, 1, 1, 2}, [][]byte{large, large, small, small, large}},
		{"two at once", true, []int{2, 1}, [][]byte{large, append(bytes.Clone(small), large...)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := new(countReader)
			c := pdu.NewConn(readWriter{in, io.Discard})
			c.Eager = tt.eager
			for i, b := range tt.arrival {
				in.n, in.Reader = 0, bytes.NewReader(b)
				for left := len(b); left > 0; {
					h, body, err := c.Read()
					if err != nil || len(body) != h.Len-pdu.HeaderLen {
						t.Fatal(h, len(body), err)
					}
					left -= h.Len
				}
				if in.n != tt.reads[i] {
					t.Errorf("arrival %d took %d reads, want %d", i, in.n, tt.reads[i])
				}
			}
		})
	}
}

// TestConnIdle: a connection that waits for the next PDU holds no buffer for it.
func TestConnIdle(t *testing.T) {
	const conns, size = 200, 60_000
	wire := append(unhex(t, fmt.Sprintf(`%08x 00007011 00000000 00000000`, size)), make([]byte, size-16)...)
	idle := make([]*pdu.Conn, conns)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range idle {
		idle[i] = pdu.NewConn(newStream(wire))
		if _, _, err := idle[i].Read(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := idle[i].Read(); err != io.EOF { // as far as a wait goes
			t.Fatal(err)
		}
		if err := idle[i].Write(0, pdu.Attr{Value: make([]byte, 2000)}); err != nil {
			t.Fatal(err)
		}
		idle[i] = quiet(idle[i])
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > conns*5000 {
		t.Errorf("%d bytes held by each idle connection", held/conns)
	}
	runtime.KeepAlive(idle)
}

// quiet drops the test's own stream from a Conn.
func quiet(c *pdu.Conn) *pdu.Conn {
	c.Upgrade(func(io.ReadWriter) io.ReadWriter { return nil })
	return c
}

// countWriter counts writes.
type countWriter struct {
	bytes.Buffer
	n int
}

func (w *countWriter) Write(p []byte) (int, error) { w.n++; return w.Buffer.Write(p) }

func TestConnQueue(t *testing.T) {
	var w countWriter
	c := pdu.NewConn(readWriter{bytes.NewReader(nil), &w})
	must(t, c.Flush())
	if err := c.Queue(0, pdu.Fetch{}); !errors.Is(err, pdu.ErrTooSmall) {
		t.Fatalf("error %v", err)
	}
	must(t, c.Flush())
	if w.n != 0 {
		t.Errorf("%d writes of nothing", w.n)
	}
	must(t, c.Queue(1, pdu.SetProfile{}))
	if err := c.Queue(2, failing{}); !errors.Is(err, errFailing) {
		t.Fatalf("error %v", err)
	}
	must(t, c.Queue(3, pdu.DescReq{PMID: 7}))
	if w.n != 0 {
		t.Errorf("%d writes before Flush", w.n)
	}
	must(t, c.Write(4, pdu.Status{}))
	must(t, c.Flush())
	if w.n != 1 {
		t.Errorf("%d writes, want 1", w.n)
	}
	want := unhex(t, `0000001c 00007002 00000001 00000000 00000000 00000000 00000000
		00000010 00007004 00000003 00000007 00000010 00007000 00000004 00000000`)
	if diff := cmp.Diff(want, w.Bytes()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// failing is a PDU that cannot be encoded and says so in the rudest way.
type failing struct{}

var errFailing = errors.New("cannot")

func (failing) Kind() pdu.Kind                { return pdu.KindText }
func (failing) Append([]byte) ([]byte, error) { return nil, errFailing }

// brokenWriter fails.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestConnWriteError(t *testing.T) {
	c := pdu.NewConn(readWriter{bytes.NewReader(nil), brokenWriter{}})
	err := c.Write(0, pdu.Status{})
	if !errors.Is(err, io.ErrClosedPipe) || err.Error() != "pdu: write: io: read/write on closed pipe" {
		t.Errorf("error %v", err)
	}
	if err := c.Flush(); err != nil {
		t.Errorf("what could not be written is kept: %v", err)
	}
}

// A slowWriter accepts only some bytes of each write, then returns os.ErrDeadlineExceeded.
type slowWriter struct {
	bytes.Buffer
	accepts []int
}

func (w *slowWriter) Write(b []byte) (int, error) {
	if len(w.accepts) == 0 {
		return w.Buffer.Write(b)
	}
	n := min(w.accepts[0], len(b))
	w.accepts = w.accepts[1:]
	w.Buffer.Write(b[:n])
	return n, os.ErrDeadlineExceeded
}

// TestConnFlushContinues: after a deadline has passed, Flush continues where it was, followed by
// the PDUs queued meanwhile.
func TestConnFlushContinues(t *testing.T) {
	first, second := pdu.DescReq{PMID: 1}, pdu.TextReq{Ident: 2, Text: 3}
	var want bytes.Buffer
	all := pdu.NewConn(readWriter{nil, &want})
	must(t, all.Write(7, first))
	must(t, all.Write(8, second))
	for n := range 16 { // of the first
		w := &slowWriter{accepts: []int{n, 0, 1, 3}}
		c := pdu.NewConn(readWriter{nil, w})
		must(t, c.Queue(7, first))
		timeouts := 0
		for err := c.Flush(); err != nil; err = c.Flush() {
			if timeouts++; !errors.Is(err, os.ErrDeadlineExceeded) || timeouts > 4 {
				t.Fatal(err)
			}
			if timeouts == 1 {
				must(t, c.Queue(8, second))
			}
		}
		if diff := cmp.Diff(want.Bytes(), w.Bytes()); diff != "" || timeouts != 4 {
			t.Errorf("after %d bytes, %d time-outs (-want +got):\n%s", n, timeouts, diff)
		}
	}
}

func TestConnCounters(t *testing.T) {
	var n pdu.Counters
	s := newStream(unhex(t, `00000010 00007000 00000000 00000000 00000010 00007000 00000000 00000000 0000000c 00007018 00000000 0000000c 00000000 00000000`))
	c := pdu.NewConn(s)
	c.Counters = &n
	if _, err := readAll(c); err != io.EOF {
		t.Fatal(err)
	}
	must(t, c.Write(0, pdu.Status{}))
	must(t, c.Write(0, pdu.DescReq{}))
	must(t, c.Write(0, oddKind{}))
	for k, want := range map[pdu.Kind][2]uint64{
		pdu.KindError: {2, 1}, pdu.KindDescReq: {0, 1}, pdu.KindFetch: {}, 0x7018: {}, 0: {}, -1: {},
	} {
		in, out := n.Count(k)
		if got := [2]uint64{in, out}; got != want {
			t.Errorf("%v: %v, want %v", k, got, want)
		}
	}
	if in, out := n.Total(); in != 2 || out != 2 {
		t.Errorf("%d in, %d out, want 2 and 2", in, out)
	}
}

// oddKind is a PDU of no known kind.
type oddKind struct{}

func (oddKind) Kind() pdu.Kind                  { return 0x9000 }
func (oddKind) Append(b []byte) ([]byte, error) { return b, nil }

func TestConnTrace(t *testing.T) {
	type event struct {
		Out    bool
		Header pdu.Header
		Body   string
	}
	var got []event
	c := pdu.NewConn(newStream(unhex(t, `00000010 00007004 00000005 "ABCD"`)))
	c.Trace = func(out bool, h pdu.Header, body []byte) { got = append(got, event{out, h, string(body)}) }
	if _, err := readAll(c); err != io.EOF {
		t.Fatal(err)
	}
	must(t, c.Write(6, pdu.Attr{Key: 0x41424344, Value: []byte("E")}))
	want := []event{
		{false, pdu.Header{Len: 16, Kind: pdu.KindDescReq, From: 5}, "ABCD"},
		{true, pdu.Header{Len: 17, Kind: pdu.KindAttr, From: 6}, "ABCDE"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// xor is a stream that changes every byte, as TLS would.
type xor struct{ io.ReadWriter }

func (x xor) Read(p []byte) (int, error) {
	n, err := x.ReadWriter.Read(p)
	for i := range p[:n] {
		p[i] ^= 0x55
	}
	return n, err
}

func (x xor) Write(p []byte) (int, error) {
	q := bytes.Clone(p)
	for i := range q {
		q[i] ^= 0x55
	}
	return x.ReadWriter.Write(q)
}

// TestConnUpgrade: bytes that were read ahead pass through the new stream, too.
func TestConnUpgrade(t *testing.T) {
	plain := unhex(t, `00000010 00007000 00000000 00000000`)
	secret := unhex(t, `00000010 00007004 00000000 00000007 00000014 00007012 00000000 0000001d 00000002`)
	wire := bytes.Clone(plain)
	for _, b := range secret {
		wire = append(wire, b^0x55)
	}
	for name, reader := range readers {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			c := pdu.NewConn(readWriter{reader(bytes.NewReader(wire)), &out})
			if c.Buffered() {
				t.Error("bytes have arrived before any was read")
			}
			if _, _, err := c.Read(); err != nil {
				t.Fatal(err)
			}
			if ahead := c.Buffered(); ahead != (name == "as they are" || name == "half of what fits" || name == "with the end") {
				t.Errorf("Buffered = %v", ahead)
			}
			c.Upgrade(func(rw io.ReadWriter) io.ReadWriter { return xor{rw} })
			if c.Buffered() {
				t.Error("Upgrade kept bytes")
			}
			got, err := readAll(c)
			if err != io.EOF {
				t.Fatal(err)
			}
			want := []frame{
				{pdu.Header{Len: 16, Kind: pdu.KindDescReq}, string(secret[12:16])},
				{pdu.Header{Len: 20, Kind: pdu.KindLabelReq}, string(secret[28:36])}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			must(t, c.Write(0, pdu.Status{}))
			if out.Len() != 16 || out.Bytes()[3] != 0x10^0x55 {
				t.Errorf("sent in clear: %x", out.Bytes())
			}
		})
	}
}

// TestConnPipe runs a reader and a writer at each end of a pipe.
func TestConnPipe(t *testing.T) {
	near, far := net.Pipe()
	a, b := pdu.NewConn(near), pdu.NewConn(far)
	const rounds = 50
	var wg sync.WaitGroup
	for _, c := range []*pdu.Conn{a, b} {
		wg.Go(func() {
			for i := range rounds {
				if err := c.Write(int32(i), pdu.TextReply{Text: string(make([]byte, i*50))}); err != nil {
					t.Error(err)
					return
				}
			}
		})
		wg.Go(func() {
			for i := range rounds {
				h, body, err := c.Read()
				if err != nil {
					t.Error(err)
					return
				}
				var p pdu.TextReply
				if err := p.Decode(body); err != nil || int(h.From) != i || len(p.Text) != i*50 {
					t.Errorf("PDU %d: %+v, %v", i, h, err)
					return
				}
			}
		})
	}
	wg.Wait()
	near.Close()
	if _, _, err := b.Read(); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
	if err := b.Write(0, pdu.Status{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("write after the end: %v", err)
	}
}

// hesitant reports a time-out before every read of another one.
type hesitant struct {
	r     io.Reader
	ready bool
}

func (h *hesitant) Read(p []byte) (int, error) {
	if h.ready = !h.ready; h.ready {
		return 0, iotest.ErrTimeout
	}
	return h.r.Read(p)
}

// TestConnReadContinues: after a deadline has passed at any place, Read continues where it was.
func TestConnReadContinues(t *testing.T) {
	wire, want := sizedFrames()
	for name, reader := range readers {
		t.Run(name, func(t *testing.T) {
			c := pdu.NewConn(readWriter{&hesitant{r: reader(bytes.NewReader(wire))}, io.Discard})
			waiting := false
			c.Partial = func(w bool) { waiting = w }
			var got []frame
			for timeouts := 0; ; {
				more, err := readAll(c)
				got = append(got, more...)
				if waiting {
					t.Fatal("a wait has not ended")
				}
				if err == io.EOF {
					break
				}
				if timeouts++; !errors.Is(err, iotest.ErrTimeout) || timeouts > len(wire)+len(want) {
					t.Fatalf("error %v, want %v", err, iotest.ErrTimeout)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// breaksProtocol reports whether an error of Read or Decode says that the peer
// broke the protocol, rather than that the stream failed.
func breaksProtocol(err error) bool {
	return errors.Is(err, pdu.ErrIPC) || errors.Is(err, pdu.ErrTooBig)
}

// TestConnGrowth: the buffers that a long PDU outgrows are a small part of it, and a buffer that
// the caller does not keep is used again.
func TestConnGrowth(t *testing.T) {
	if withRace() {
		t.Skip("with the race detector, pools lose what is put there")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would empty the pools
	for _, n := range []int{300_000, 1<<22 + 100, 5 << 20, 33 << 20} {
		stream := text(t, 1, n)
		c := pdu.NewConn(struct {
			io.Reader
			io.Writer
		}{bytes.NewReader(slices.Concat(stream, stream, stream)), io.Discard})
		c.Growth = 8
		runtime.GC() // also waits for one that is in progress
		var costs [3]uint64
		for i := range costs {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, _, err := c.Read(); err != nil {
				t.Fatal(err)
			}
			if i == 1 && !c.Keep() {
				t.Errorf("%d bytes are not kept", n)
			}
			runtime.ReadMemStats(&after)
			costs[i] = after.TotalAlloc - before.TotalAlloc
		}
		whole := uint64(len(stream))
		if most := whole*8/7 + 128<<10; costs[0] > most || costs[1] > whole/8+128<<10 || costs[2] < whole || costs[2] > most {
			t.Errorf("%d bytes took %d, want at most %d for the first and, as that was not kept, less for the second", n, costs, most)
		}
	}
}
