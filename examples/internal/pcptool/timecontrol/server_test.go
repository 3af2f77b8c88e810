package timecontrol_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/pcptool/timecontrol"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// pipes is a listener in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

func (p *pipes) dial(t *testing.T, set timecontrol.Message) *timecontrol.Conn {
	t.Helper()
	here, there := net.Pipe()
	p.conns <- there
	c, err := timecontrol.NewConn(t.Context(), here, set)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// serve runs a server until it ends.
func serve(t *testing.T, s *timecontrol.Server) (p *pipes, ended func() error) {
	p = newPipes()
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- s.Serve(ctx, p) }()
	t.Cleanup(cancel)
	return p, func() error { return <-done }
}

// A step holds the times of a step that a client has received.
type step struct {
	At    time.Duration // after start
	After time.Duration // since the client connected
}

// follow does the steps, up to a number of them or to the end.
func follow(t *testing.T, c *timecontrol.Conn, most int) (steps []step) {
	t.Helper()
	begin := time.Now()
	for len(steps) < most {
		m, err := c.Receive(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if m.Command != timecontrol.CommandStep {
			continue
		}
		steps = append(steps, step{m.Position.Sub(start), time.Since(begin)})
		if err := c.Ack(m.Position); err != nil {
			break
		}
	}
	return steps
}

func TestServer(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name   string
		server timecontrol.Server
		want   []step
	}{
		{"whole", timecontrol.Server{}, []step{{0, 0}, {3 * s, 0}, {6 * s, 0}, {9 * s, 0}}},
		{"speed", timecontrol.Server{Speed: 2, Delta: 4 * s}, []step{{0, 0}, {4 * s, 2 * s}, {8 * s, 4 * s}, {12 * s, 6 * s}}},
		{"backward", timecontrol.Server{Backward: true, Delta: 5 * s}, []step{{8 * s, 0}, {3 * s, 0}, {-2 * s, 0}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.server.Source = timecontrol.SourceArchive
				p, ended := serve(t, &tt.server)
				set := setMessage()
				set.Delta = 3 * s
				if diff := cmp.Diff(tt.want, follow(t, p.dial(t, set), 100)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if err := ended(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestServerWindow gives the server a window and has two clients. The first connects early.
func TestServerWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &timecontrol.Server{Source: timecontrol.SourceArchive, Clients: 2}
		s.Window.Start, s.Window.Finish = "2sec", "3sec"
		p, ended := serve(t, s)
		first := p.dial(t, setMessage())
		got := make(chan []step)
		go func() { got <- follow(t, first, 100) }()
		time.Sleep(time.Minute)
		second := follow(t, p.dial(t, setMessage()), 100)
		want := []time.Duration{2 * time.Second, 3 * time.Second, 4 * time.Second, 5 * time.Second}
		for _, steps := range [][]step{<-got, second} {
			var at []time.Duration
			for _, s := range steps {
				at = append(at, s.At)
			}
			if diff := cmp.Diff(want, at); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		if err := ended(); err != nil {
			t.Error(err)
		}
	})
}

// TestServerStuck has a client that does not do its step, which the other then does not wait for.
func TestServerStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, ended := serve(t, &timecontrol.Server{Source: timecontrol.SourceArchive, Clients: 2, AckTimeout: time.Minute})
		stuck := p.dial(t, setMessage())
		go stuck.Receive(t.Context())
		if steps := follow(t, p.dial(t, setMessage()), 100); len(steps) != 10 || steps[1].After != time.Minute {
			t.Errorf("steps %v, want 10, the second after a minute", steps)
		}
		stuck.Close()
		if err := ended(); err != nil {
			t.Error(err)
		}
	})
}

// TestServerLive has a client leave after some steps, which ends the server.
func TestServerLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, ended := serve(t, &timecontrol.Server{})
		c := p.dial(t, timecontrol.Message{Delta: 2 * time.Second})
		begin := time.Since(start)
		var want []step
		for n := range time.Duration(3) {
			want = append(want, step{begin + 2*n*time.Second, 2 * n * time.Second})
		}
		got := follow(t, c, 3)
		for i := range got {
			got[i].At = got[i].At.Round(time.Millisecond)
			want[i].At = want[i].At.Round(time.Millisecond)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		c.Close()
		if err := ended(); err != nil {
			t.Error(err)
		}
	})
}

// TestServerStay keeps clients at the end until they go.
func TestServerStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, ended := serve(t, &timecontrol.Server{Source: timecontrol.SourceArchive, Stay: true})
		c := p.dial(t, setMessage())
		follow(t, c, 10)
		m, err := c.Receive(t.Context())
		if err != nil || m.Command != timecontrol.CommandMode || m.State != timecontrol.Stopped {
			t.Errorf("%+v, %v, want that it has stopped", m, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if m, err := c.Receive(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%+v, %v, want nothing", m, err)
		}
		c.Close()
		if err := ended(); err != nil {
			t.Error(err)
		}
	})
}

// TestServerSilent: connections that do not say what they are keep no client out, and are closed.
func TestServerSilent(t *testing.T) {
	pcptest.Attack(t, func() { synctest.Test(t, testServerSilent) }, nil)
}

func testServerSilent(t *testing.T) {
	p, ended := serve(t, &timecontrol.Server{Logger: slog.New(slog.DiscardHandler)})
	silent := make([]net.Conn, pcptest.AttackSize(timecontrol.MaxClients, 20*timecontrol.MaxClients))
	for i := range silent {
		here, there := net.Pipe()
		silent[i] = here
		p.conns <- there
	}
	set := timecontrol.Message{Source: timecontrol.SourceHost, Delta: time.Second, Position: start}
	began := time.Now()
	c := p.dial(t, set)
	t.Logf("a client waits %v beside %d silent connections", time.Since(began), len(silent))
	if steps := follow(t, c, 12); len(steps) != 12 {
		t.Errorf("%d steps, want 12", len(steps))
	}
	for i, s := range silent {
		if _, err := s.Read(make([]byte, 1)); err != io.EOF {
			t.Fatalf("silent connection %d: %v, want its end", i, err)
		}
	}
	t.Logf("refused: %d connections were closed", len(silent))
	c.Close()
	if err := ended(); err != nil {
		t.Error(err)
	}
}

func TestServerRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := serve(t, &timecontrol.Server{})
		here, there := net.Pipe()
		defer here.Close()
		p.conns <- there
		if _, err := timecontrol.NewConn(t.Context(), here, setMessage()); !errors.Is(err, syscall.ENOSYS) {
			t.Errorf("a client of another source: %v, want %v", err, syscall.ENOSYS)
		}
		for _, b := range [][]byte{make([]byte, 88), []byte("GET / HTTP/1.0\r\n")} {
			here, there := net.Pipe()
			p.conns <- there
			if _, err := here.Write(b); err != nil {
				t.Fatal(err)
			}
			if len(b) < 88 {
				here.Close()
				continue
			}
			if _, err := here.Read(b); !errors.Is(err, io.EOF) {
				t.Errorf("after a bad message: %v, want %v", err, io.EOF)
			}
		}
	})
}

// TestHandshake has servers answer what is wrong.
func TestHandshake(t *testing.T) {
	ack := func(change func(*timecontrol.Message)) []byte {
		m := setMessage()
		m.Command = timecontrol.CommandAck
		change(&m)
		b, err := m.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, tt := range []struct {
		name   string
		answer []byte
		want   error
	}{
		{"good", ack(func(*timecontrol.Message) {}), nil},
		{"length", ack(func(m *timecontrol.Message) { m.Zone += "x" }), syscall.EMSGSIZE},
		{"command", ack(func(m *timecontrol.Message) { m.Command = timecontrol.CommandStep }), syscall.EPROTO},
		{"source", ack(func(m *timecontrol.Message) { m.Source = timecontrol.SourceHost }), syscall.ENOSYS},
		{"garbage", make([]byte, 88), pdu.ErrIPC},
		{"nothing", nil, io.EOF},
	} {
		t.Run(tt.name, func(t *testing.T) {
			here, there := net.Pipe()
			defer here.Close()
			go func() {
				_, _ = io.ReadFull(there, make([]byte, 98))
				_, _ = there.Write(tt.answer)
				if tt.want == nil {
					_, _ = io.Copy(io.Discard, there) // that it goes on
				}
				there.Close()
			}()
			_, err := timecontrol.NewConn(t.Context(), here, setMessage())
			if _, ok := errors.AsType[*timecontrol.HandshakeError](err); !errors.Is(err, tt.want) || ok != (tt.want != nil) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}
