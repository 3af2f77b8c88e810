package pmlc

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/internal/logconf"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// A scripted logger records nothing and returns prepared answers.
type scripted struct {
	mu      sync.Mutex
	volume  int
	syncs   int
	err     error // of what can fail
	states  []logger.MetricState
	control ControlReq // the last one
}

func (l *scripted) Status() logger.Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return logger.Status{Start: time.Unix(1000, 5), Last: time.Unix(2000, 6), Volume: l.volume, Size: 500, Host: "web1", TimeZone: "UTC"}
}

func (l *scripted) NewVolume(string) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.volume++
	return l.volume, l.err
}

func (l *scripted) Sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.syncs++
	return l.err
}

func (l *scripted) Control(_ context.Context, c logger.Control, s logger.State, d time.Duration, t []logger.Target) ([]logger.MetricState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.control = ControlReq{Control: c, State: s, Interval: d, Targets: t}
	return l.states, l.err
}

func (l *scripted) Enquire(_ context.Context, t []logger.Target) ([]logger.MetricState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.control = ControlReq{Enquire: true, Targets: t}
	return l.states, l.err
}

// serve runs a server on a port and a unix socket, and returns their addresses. When the test ends,
// the server has returned.
func serve(t *testing.T, s *Server) (port, socket string) {
	t.Helper()
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(pcptest.ShortDir(t), "s")
	unix, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, tcp, unix) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if _, err := net.Dial("tcp", tcp.Addr().String()); err == nil {
			t.Error("the listener is open")
		}
	})
	return tcp.Addr().String(), socket
}

// dial connects a client. One before it may not have been noticed to be gone.
func dial(t *testing.T, network, addr string) *Client {
	t.Helper()
	for {
		c, err := Dial(t.Context(), network, addr)
		if errors.Is(err, errBusy) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
}

func TestServer(t *testing.T) {
	l := &scripted{states: []logger.MetricState{{PMID: 5, Values: []logger.ValueState{{Inst: 1, On: true, Interval: time.Second}}}, {PMID: 6, Err: pdu.ErrPMID}}}
	var controlled []ControlReq
	t.Setenv("TZ", "EST5EDT")
	port, socket := serve(t, &Server{Logger: l, Source: "localhost:44321",
		Controlled: func(_ net.Addr, r *ControlReq, _ []logger.MetricState, err error) {
			controlled = append(controlled, *r)
		}})
	targets := []logger.Target{{PMID: 5, Insts: []pdu.InstID{1}}, {PMID: 6}}
	for _, addr := range [][2]string{{"tcp", port}, {"unix", socket}} {
		c := dial(t, addr[0], addr[1])
		if c.PID() != os.Getpid() || c.Version() != Version3 {
			t.Errorf("PID %d, version %d", c.PID(), c.Version())
		}
		asked := time.Now()
		status, err := c.Status(t.Context())
		if status.Now.Before(asked) || status.Now.After(time.Now()) {
			t.Errorf("the time is %v", status.Now)
		}
		want := Status{Version: Version3, Start: time.Unix(1000, 5), Last: time.Unix(2000, 6), Now: status.Now, Active: true, Volume: l.volume,
			Size: 500, Host: "web1", Source: "localhost:44321", Zone: "UTC", LoggerZone: "EST5EDT"}
		if diff := cmp.Diff(want, status); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		before := l.volume
		if n, err := c.NewVolume(t.Context()); err != nil || n != before+1 {
			t.Errorf("volume %d, %v", n, err)
		}
		if err := c.Sync(t.Context()); err != nil {
			t.Error(err)
		}
		states, err := c.Control(t.Context(), logger.Mandatory, logger.On, 3*time.Second, targets)
		if diff := cmp.Diff(l.states, states); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if diff := cmp.Diff(ControlReq{Control: logger.Mandatory, State: logger.On, Interval: 3 * time.Second, Targets: targets}, l.control); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		states, err = c.Enquire(t.Context(), []logger.Target{{PMID: 7, Insts: []pdu.InstID{pdu.NoInst}}})
		if diff := cmp.Diff(l.states, states); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if diff := cmp.Diff(ControlReq{Enquire: true, Targets: []logger.Target{{PMID: 7}}}, l.control); diff != "" {
			t.Errorf("a singular metric (-want +got):\n%s", diff)
		}
		if err := c.QA(t.Context(), 0); err != nil {
			t.Error(err)
		}
		c.Close()
		if _, err := c.Status(t.Context()); !errors.Is(err, net.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	}
	if l.syncs != 2 || len(controlled) != 2 {
		t.Errorf("%d syncs, %d changes", l.syncs, len(controlled))
	}
}

// An error of the logger does not end the session.
// After QA 1 one reply is late.
func TestServerQA(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		done := make(chan error, 1)
		s := &session{Server: &Server{Logger: &scripted{}}, ctx: t.Context(), conn: there, pdus: pdu.NewConn(there)}
		go func() { done <- s.serve() }()
		c := &Client{conn: here, pdus: pdu.NewConn(here)}
		c.deadline.Set, c.pdus.MaxLen = here.SetDeadline, MaxReply
		if err := c.wait(t.Context(), c.hello); err != nil {
			t.Fatal(err)
		}
		var took []time.Duration
		for _, qa := range []int{0, 1, -1, -1, 1, 1, 0, -1} {
			start := time.Now()
			var err error
			if qa < 0 {
				err = c.Sync(t.Context())
			} else {
				err = c.QA(t.Context(), qa)
			}
			if err != nil {
				t.Fatal(err)
			}
			took = append(took, time.Since(start))
		}
		if diff := cmp.Diff([]time.Duration{0, 0, qaDelay, 0, 0, qaDelay, qaDelay, 0}, took); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		c.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestServerErrors(t *testing.T) {
	l := &scripted{err: pdu.ErrNoData}
	port, _ := serve(t, &Server{Logger: l, Version: Version2})
	c := dial(t, "tcp", port)
	if c.Version() != Version2 {
		t.Errorf("version %d", c.Version())
	}
	one := []logger.Target{{PMID: 1}}
	for range 2 {
		_, volume := c.NewVolume(t.Context())
		_, control := c.Control(t.Context(), logger.Advisory, logger.Off, 0, one)
		_, enquire := c.Enquire(t.Context(), one)
		for _, err := range []error{volume, control, enquire, c.Sync(t.Context())} {
			if err != pdu.ErrNoData {
				t.Error(err)
			}
		}
	}
	if s, err := c.Status(t.Context()); err != nil || s.Version != Version2 || s.Host != "web1" {
		t.Errorf("%+v, %v", s, err)
	}
	l.mu.Lock()
	l.err, l.states = nil, []logger.MetricState{{PMID: 1, Values: make([]logger.ValueState, maxStates/8+1)}}
	l.mu.Unlock()
	if states, err := c.Enquire(t.Context(), one); err == nil && len(states) > 0 && states[0].Err == nil {
		t.Error("a reply without limit")
	}
	if err := c.Sync(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestServerOneClient(t *testing.T) {
	port, socket := serve(t, &Server{Logger: &scripted{}})
	first := dial(t, "tcp", port)
	for range 2 {
		for _, addr := range [][2]string{{"tcp", port}, {"unix", socket}} {
			if _, err := Dial(t.Context(), addr[0], addr[1]); !errors.Is(err, errBusy) {
				t.Errorf("%s: %v", addr[0], err)
			}
		}
	}
	if _, err := first.Status(t.Context()); err != nil {
		t.Error(err)
	}
	first.Close()
	dial(t, "unix", socket)
}

// raw connects without a Client, and reads the greeting.
func raw(t *testing.T, addr string) net.Conn {
	t.Helper()
	for {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 16)
		if _, err := io.ReadFull(c, b); err != nil {
			t.Fatal(err)
		}
		if code := int32(binary.BigEndian.Uint32(b[12:])); code > 0 {
			t.Cleanup(func() { c.Close() })
			return c
		}
		c.Close()
	}
}

const (
	creds3 = "00000014 0000700c 00000000 00000001 01030000"
	sync16 = "00000010 00008002 00000000 00000003"
	done16 = "00000010 00007000 00000000 00000000"
	ipc16  = "00000010 00007000 00000000 ffffcfb2"
)

// TestServerProtocol checks replies. C pmlogger sends the same ones, except where it reads on.
func TestServerProtocol(t *testing.T) {
	port, _ := serve(t, &Server{Logger: &scripted{}, Timeout: time.Minute})
	for _, tt := range []struct{ name, send, want string }{
		{"sync", creds3 + sync16 + sync16, done16 + done16},
		{"no version", sync16, ipc16},
		{"version 1", "00000014 0000700c 00000000 00000001 01010000" + sync16, ipc16},
		{"version 4", "00000014 0000700c 00000000 00000001 01040000" + sync16, ipc16},
		{"no credential of a version", "00000014 0000700c 00000000 00000001 02030000" + sync16, ipc16},
		{"no credentials", "00000010 0000700c 00000000 00000000", ipc16},
		{"version 2 of two credentials", "00000018 0000700c 00000000 00000002 02030000 01020000" + sync16, done16},
		{"version twice", creds3 + creds3 + sync16, done16},
		{"unknown request", creds3 + "00000010 00008002 00000000 00000004" + sync16, ipc16},
		{"qa", creds3 + "00000010 00008002 00000000 00000064" + "00000010 00008002 00000000 00000066", done16 + ipc16},
		{"short request", creds3 + "0000000c 00008002 00000000", ipc16},
		{"unknown kind", creds3 + "00000010 00008005 00000000 00000001", ipc16},
		{"fetch", creds3 + "00000020 00007003 00000000 00000001 00000000 00000000 00000001 00000002", ipc16},
		{"malformed control", creds3 + "00000014 00008000 00000000 0000000b 00000002" + sync16, ipc16 + done16},
		{"short PDU", creds3 + "00000008 00008002", ""},
		{"long PDU", creds3 + "00010004 00008002 00000000", ""},
		{"negative length", creds3 + "fffffffb 00008002 00000000", ""},
	} {
		c := raw(t, port)
		if _, err := c.Write(unhex(t, tt.send)); err != nil {
			t.Fatal(err)
		}
		want := unhex(t, tt.want)
		got := make([]byte, len(want))
		if _, err := io.ReadFull(c, got); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: got %x, %v; want %x", tt.name, got, err, want)
		}
		c.(*net.TCPConn).CloseWrite()
		if rest, _ := io.ReadAll(c); len(rest) > 0 { // the end, or a reset if something has not been read
			t.Errorf("%s: %x more", tt.name, rest)
		}
		c.Close()
	}
}

// awaitServed waits until another client is served. With a short Timeout, on a busy computer, it
// may take more than one.
func awaitServed(t *testing.T, addr string) {
	t.Helper()
	for {
		c, err := Dial(t.Context(), "tcp", addr)
		if err == nil {
			err = c.Sync(t.Context())
			c.Close()
		}
		if err == nil {
			return
		}
	}
}

// A client that stops in the middle makes room for others.
func TestServerSlowClients(t *testing.T) {
	port, _ := serve(t, &Server{Logger: &scripted{}, Timeout: 20 * time.Millisecond})
	for _, start := range []string{"", "00000014 0000700c", creds3 + "0000001c 00008000", creds3 + "00010000 00008000 00000000 0000000b"} {
		c := raw(t, port)
		if _, err := c.Write(unhex(t, start)); err != nil {
			t.Fatal(err)
		}
		awaitServed(t, port) // as soon as the server has given up the first
		c.Close()
	}
}

// A client that does not read its replies makes room for others.
func TestServerUnreadReplies(t *testing.T) {
	l := &scripted{states: []logger.MetricState{{PMID: 1, Values: make([]logger.ValueState, 100_000)}}}
	port, _ := serve(t, &Server{Logger: l, Timeout: 20 * time.Millisecond})
	c := raw(t, port)
	query := unhex(t, "00000024 00008000 00000000 0000000d 00000000 00000000 00000001 00000001 00000000")
	c.Write(unhex(t, creds3))
	for range 100 {
		if _, err := c.Write(query); err != nil {
			break
		}
	}
	awaitServed(t, port)
}

func TestServerAccess(t *testing.T) {
	one := []logger.Target{{PMID: 1}}
	for _, tt := range []struct {
		name                                 string
		rules                                []logconf.Rule
		connect, enquire, advisory, mandator error // over TCP, from the loopback interface
	}{
		{name: "no rules"},
		{name: "nothing", rules: []logconf.Rule{{Hosts: []string{".*", ":*"}, Ops: logconf.OpAll}}, connect: pdu.ErrPermission},
		{name: "others", rules: []logconf.Rule{{Hosts: []string{"10.*"}, Ops: logconf.OpAll}}},
		{name: "enquire", rules: []logconf.Rule{{Hosts: []string{"*"}, Ops: logconf.OpAdvisory | logconf.OpMandatory}},
			advisory: pdu.ErrPermission, mandator: pdu.ErrPermission},
		{name: "localhost", rules: []logconf.Rule{{Hosts: []string{".*", ":*"}, Ops: logconf.OpAll}, {Allow: true, Hosts: []string{"localhost"}, Ops: logconf.OpEnquire | logconf.OpAdvisory}},
			mandator: pdu.ErrPermission},
	} {
		t.Run(tt.name, func(t *testing.T) {
			access, err := NewAccess(tt.rules)
			if err != nil {
				t.Fatal(err)
			}
			port, _ := serve(t, &Server{Logger: &scripted{}, Access: access})
			c, err := Dial(t.Context(), "tcp", port)
			if !errors.Is(err, tt.connect) || (err == nil) != (tt.connect == nil) {
				t.Fatalf("connect: %v, want %v", err, tt.connect)
			}
			if err != nil {
				return
			}
			defer c.Close()
			_, enquire := c.Enquire(t.Context(), one)
			_, advisory := c.Control(t.Context(), logger.Advisory, logger.Off, 0, one)
			_, mandatory := c.Control(t.Context(), logger.Mandatory, logger.Off, 0, one)
			_, volume := c.NewVolume(t.Context())
			got := []error{enquire, advisory, mandatory, volume, c.Sync(t.Context())}
			want := []error{tt.enquire, tt.advisory, tt.mandator, tt.mandator, nil}
			if diff := cmp.Diff(want, got, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Clients cannot fill the disk with volumes, however many connections they make.
func TestVolumeLimit(t *testing.T) {
	l := new(scripted)
	port, _ := serve(t, &Server{Logger: l})
	many, refused, began := pcptest.AttackSize(volumeBurst+5, 5000), 0, time.Now()
	pcptest.Attack(t, func() {
		for i := range many {
			c := dial(t, "tcp", port)
			_, err := c.NewVolume(t.Context())
			switch {
			case i >= volumeBurst && errors.Is(err, pdu.ErrAgain):
				refused++
			case err != nil:
				t.Errorf("volume %d: %v", i, err)
			}
			if err := c.Sync(t.Context()); err != nil {
				t.Error(err)
			}
			c.Close()
		}
	}, nil)
	t.Logf("refused: %d of %d volumes", refused, many)
	if most := volumeBurst + int(time.Since(began)/volumeEvery); l.volume < volumeBurst || l.volume > most {
		t.Errorf("%d volumes were begun, want %d", l.volume, volumeBurst)
	}
	now := time.Unix(1e9, 0)
	var v volumeLimit
	for v.allow(now) {
	}
	if v.allow(now.Add(volumeEvery-1)) || !v.allow(now.Add(volumeEvery)) || v.allow(now.Add(volumeEvery)) {
		t.Error("want one more volume after a minute")
	}
}

// An idle client does not keep others out.
func TestIdleClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{Logger: new(scripted), Log: slog.New(slog.DiscardHandler)}
		busy, waiting := make(chan struct{}, 1), make(chan struct{}, maxWaiting)
		connect := func() net.Conn {
			near, far := net.Pipe()
			waiting <- struct{}{}
			go s.admit(t.Context(), far, busy, waiting)
			return near
		}
		first := func(c net.Conn) int32 { // the code of the first PDU
			b := make([]byte, 16)
			if _, err := io.ReadFull(c, b); err != nil {
				return 0
			}
			return int32(binary.BigEndian.Uint32(b[12:]))
		}
		idle := connect()
		if code := first(idle); code != Version3 {
			t.Fatalf("code %d", code)
		}
		if err := pdu.NewConn(idle).Write(0, pdu.Creds{Version: Version3}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(idleTime / 2)
		if code := first(connect()); code != int32(errBusy) {
			t.Errorf("beside a client that has just sent something: code %d", code)
		}
		time.Sleep(idleTime / 2)
		next := connect()
		if code := first(next); code != Version3 {
			t.Errorf("beside an idle client: code %d", code)
		}
		if _, err := idle.Read(make([]byte, 1)); err == nil {
			t.Error("the idle client is connected")
		}
		next.Close()
		synctest.Wait()
	})
}

// The end of the context ends sessions, those of idle clients, too.
func TestServeEnds(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- (&Server{Logger: &scripted{}}).Serve(ctx, ln) }()
	c := dial(t, "tcp", ln.Addr().String())
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := c.Sync(t.Context()); err == nil {
		t.Error("the session goes on")
	}
	ln.Close()
	if err := (&Server{Logger: &scripted{}}).Serve(t.Context(), ln); !errors.Is(err, net.ErrClosed) {
		t.Errorf("of a closed listener: %v", err)
	}
}
