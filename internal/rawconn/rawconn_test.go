//go:build unix

package rawconn

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"
	"time"
)

// A pair is two ends of a connection.
type pair struct {
	name      string
	near, far io.ReadWriteCloser
}

// pairs are connections of all kinds that are known.
func pairs(t testing.TB) []pair {
	t.Helper()
	all := []pair{}
	for _, network := range []string{"tcp", "unix"} {
		addr := "127.0.0.1:0"
		if network == "unix" {
			dir, err := os.MkdirTemp("", "raw") // short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			addr = filepath.Join(dir, "s")
		}
		ln, err := net.Listen(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		near, err := net.Dial(network, ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		far, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pair{network, near, far})
	}
	for i := range all {
		t.Cleanup(func() { all[i].near.Close(); all[i].far.Close() })
	}
	return all
}

// pipe is two ends of a pipe.
func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// TestNew: which streams are taken, and which are left as they are.
func TestNew(t *testing.T) {
	for _, p := range pairs(t) {
		if fast := New(p.near) != io.ReadWriter(p.near); fast != (runtime.GOOS == "linux") {
			t.Errorf("%s: taken: %v", p.name, fast)
		}
		type other struct{ io.ReadWriteCloser } // reads and writes as it likes
		if o := (other{p.near}); New(o) != io.ReadWriter(o) {
			t.Errorf("%s: a type that is none of net or os was wrapped", p.name)
		}
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if New(file) != io.ReadWriter(file) {
		t.Error("a file was taken, whose calls block")
	}
}

// TestPipe sends over a pipe, to its end.
func TestPipe(t *testing.T) {
	r, w := pipe(t)
	in, out := New(r), New(w)
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // more than a pipe holds
	go func() {
		out.Write(want)
		out.(io.Closer).Close()
	}()
	got, err := io.ReadAll(in)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %d bytes of %d, %v", len(got), len(want), err)
	}
}

// TestEcho sends much in both directions at once.
func TestEcho(t *testing.T) {
	for _, p := range pairs(t) {
		t.Run(p.name, func(t *testing.T) {
			near, far := New(p.near), New(p.far)
			go func() {
				io.Copy(far, far)
				p.far.Close()
			}()
			want := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
			sent := make(chan error, 1)
			go func() {
				n, err := near.Write(want)
				if n != len(want) {
					t.Errorf("wrote %d bytes of %d", n, len(want))
				}
				sent <- err
			}()
			got := make([]byte, len(want))
			if _, err := io.ReadFull(near, got); err != nil || !bytes.Equal(got, want) {
				t.Errorf("got other bytes, %v", err)
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
			if n, err := near.Read(nil); n != 0 || err != nil {
				t.Errorf("a read of nothing: %d, %v", n, err)
			}
			p.near.(interface{ CloseWrite() error }).CloseWrite()
			if n, err := near.Read(got); n != 0 || err != io.EOF {
				t.Errorf("at the end: %d, %v", n, err)
			}
		})
	}
}

// TestErrors makes the same errors happen to a stream and to its connection.
func TestErrors(t *testing.T) {
	buf := make([]byte, 1<<20)
	failures := []struct {
		name string
		make func(p pair)
		do   func(rw io.ReadWriter) error
		want error
	}{
		{"read past the deadline",
			func(p pair) { p.near.(deadliner).SetReadDeadline(time.Now().Add(10 * time.Millisecond)) },
			func(rw io.ReadWriter) error { _, err := rw.Read(buf); return err }, os.ErrDeadlineExceeded},
		{"write past the deadline",
			func(p pair) { p.near.(deadliner).SetWriteDeadline(time.Now().Add(10 * time.Millisecond)) },
			func(rw io.ReadWriter) error {
				for range 100 {
					if _, err := rw.Write(buf); err != nil {
						return err
					}
				}
				return nil
			}, os.ErrDeadlineExceeded},
		{"read when closed", func(p pair) { p.near.Close() },
			func(rw io.ReadWriter) error { _, err := rw.Read(buf); return err }, net.ErrClosed},
		{"write when closed", func(p pair) { p.near.Close() },
			func(rw io.ReadWriter) error { _, err := rw.Write(buf); return err }, net.ErrClosed},
		{"closed during a read", func(p pair) { time.AfterFunc(10*time.Millisecond, func() { p.near.Close() }) },
			func(rw io.ReadWriter) error { _, err := rw.Read(buf); return err }, net.ErrClosed},
		{"read after a reset", reset,
			func(rw io.ReadWriter) error { _, err := rw.Read(buf); return err }, nil},
		{"write after a reset", func(p pair) { reset(p); time.Sleep(10 * time.Millisecond) },
			func(rw io.ReadWriter) error {
				for range 100 {
					if _, err := rw.Write(buf); err != nil {
						return err
					}
				}
				return nil
			}, nil},
	}
	for _, tt := range failures {
		t.Run(tt.name, func(t *testing.T) {
			plain, fast := pairs(t), pairs(t)
			for i := range plain {
				tt.make(plain[i])
				want := tt.do(plain[i].near)
				tt.make(fast[i])
				got := tt.do(New(fast[i].near))
				if same(got) != same(want) || tt.want != nil && !errors.Is(got, tt.want) {
					t.Errorf("%s: %v (%s), want %v (%s)", plain[i].name, got, same(got), want, same(want))
				}
			}
		})
	}
}

// TestPipeErrors is TestErrors for the ends of pipes, which are files.
func TestPipeErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(r, w *os.File, in io.Reader, out io.Writer) error
	}{
		{"read past the deadline", func(r, _ *os.File, in io.Reader, _ io.Writer) error {
			r.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
			_, err := in.Read(make([]byte, 8))
			return err
		}},
		{"write past the deadline", func(_, w *os.File, _ io.Reader, out io.Writer) error {
			w.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
			_, err := out.Write(make([]byte, 1<<20))
			return err
		}},
		{"read when closed", func(r, _ *os.File, in io.Reader, _ io.Writer) error {
			r.Close()
			_, err := in.Read(make([]byte, 8))
			return err
		}},
		{"closed during a read", func(r, _ *os.File, in io.Reader, _ io.Writer) error {
			time.AfterFunc(10*time.Millisecond, func() { r.Close() })
			_, err := in.Read(make([]byte, 8))
			return err
		}},
		{"write without a reader", func(r, _ *os.File, _ io.Reader, out io.Writer) error {
			r.Close()
			_, err := out.Write(make([]byte, 8))
			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, w := pipe(t)
			want := tt.do(r, w, r, w)
			r, w = pipe(t)
			got := tt.do(r, w, New(r), New(w))
			if same(got) != same(want) || want == nil {
				t.Errorf("%v (%s), want %v (%s)", got, same(got), want, same(want))
			}
		})
	}
}

type deadliner interface {
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// reset has the far end reset the connection.
func reset(p pair) {
	if c, ok := p.far.(*net.TCPConn); ok {
		c.SetLinger(0)
	}
	p.far.Close()
}

// same is what is the same of errors of two connections: all types down the
// chain, the operation, and the last error.
func same(err error) string {
	s := ""
	for err != nil {
		s += reflect.TypeOf(err).String() + " "
		if o, ok := err.(*net.OpError); ok {
			s += o.Op + " " + o.Net + " "
		}
		next := errors.Unwrap(err)
		if next == nil {
			s += err.Error()
		}
		err = next
	}
	return s
}

// TestAllocs: an exchange allocates nothing.
func TestAllocs(t *testing.T) {
	for _, p := range pairs(t) {
		near, far := New(p.near), New(p.far)
		b := make([]byte, 100)
		if n := testing.AllocsPerRun(100, func() {
			if _, err := near.Write(b); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(far, b); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", p.name, n)
		}
	}
}

// BenchmarkPingPong is an exchange of a hundred bytes, with and without.
func BenchmarkPingPong(b *testing.B) {
	for _, how := range []struct {
		name string
		rw   func(io.ReadWriter) io.ReadWriter
	}{{"raw", New}, {"plain", func(rw io.ReadWriter) io.ReadWriter { return rw }}} {
		for _, p := range pairs(b) {
			b.Run("conn="+p.name+"/how="+how.name, func(b *testing.B) {
				near, far := how.rw(p.near), how.rw(p.far)
				go func() {
					buf := make([]byte, 100)
					for {
						if _, err := io.ReadFull(far, buf); err != nil {
							return
						}
						if _, err := far.Write(buf); err != nil {
							return
						}
					}
				}()
				buf := make([]byte, 100)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := near.Write(buf); err != nil {
						b.Fatal(err)
					}
					if _, err := io.ReadFull(near, buf); err != nil {
						b.Fatal(err)
					}
				}
				p.near.Close()
			})
		}
	}
}

// TestNewWatched: the function learns once of each write that has to wait, with its time, even if
// the write fails. It does not learn of other writes.
func TestNewWatched(t *testing.T) {
	for _, p := range pairs(t) {
		t.Run(p.name, func(t *testing.T) {
			var waits []time.Duration
			s := NewWatched(p.near.(net.Conn), func(d time.Duration) { waits = append(waits, d) })
			if runtime.GOOS == "linux" { // elsewhere a write on a busy machine may take a millisecond
				for range 100 {
					if _, err := s.Write([]byte("there")); err != nil || len(waits) != 0 {
						t.Fatalf("short writes: waits %v, %v", waits, err)
					}
				}
			}
			long := make([]byte, 16<<20) // than the buffers on the way are, and the deadline may pass before the write begins
			for len(waits) == 0 {
				p.near.(net.Conn).SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
				if _, err := s.Write(long); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatalf("a long write: %v", err)
				}
			}
			if len(waits) != 1 || waits[0] <= 0 {
				t.Fatalf("a long write: waits %v", waits)
			}
			p.near.(net.Conn).SetWriteDeadline(time.Time{})
			go io.Copy(io.Discard, p.far)
			if n, err := s.Write(make([]byte, 8<<20)); n != 8<<20 || err != nil || len(waits) > 2 { // it need not wait if the reader is fast
				t.Errorf("a write that is read: %d bytes, waits %v, %v", n, waits, err)
			}
		})
	}
}
