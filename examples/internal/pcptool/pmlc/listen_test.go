package pmlc

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

func closeAll(t *testing.T, listeners []net.Listener) {
	t.Helper()
	for _, ln := range listeners {
		if err := ln.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestListen starts two loggers that try the same port first. They must get different ports and
// separate sockets.
func TestListen(t *testing.T) {
	dir := pcptest.ShortDir(t)
	first := pcptest.FreePort(t)
	a, portA, err := Listen(t.Context(), ListenOptions{Port: first, Local: true, Dir: dir, Primary: true, PID: 4})
	if err != nil {
		t.Fatal(err)
	}
	b, portB, err := Listen(t.Context(), ListenOptions{Port: portA, Local: true, Dir: dir, PID: 5})
	if err != nil {
		t.Fatal(err)
	}
	if portA < first || portB <= portA {
		t.Errorf("ports %d and %d from %d", portA, portB, first)
	}
	for _, path := range []string{SocketPath(dir, 4), SocketPath(dir, 5), PrimarySocketPath(dir)} {
		if info, err := os.Stat(path); err != nil || info.Mode() != os.ModeSocket|0o666 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	closeAll(t, a)
	closeAll(t, b)
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestListenSocket(t *testing.T) {
	dir := pcptest.ShortDir(t)
	port := pcptest.FreePort(t)
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: SocketPath(dir, 4), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false)
	ln.Close() // as of a process that was killed
	if err := os.WriteFile(filepath.Join(dir, "pmlogger.5.socket"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	l, _, err := Listen(t.Context(), ListenOptions{Port: port, Local: true, Dir: dir, PID: 4})
	if err != nil {
		t.Errorf("a socket is left: %v", err)
	}
	closeAll(t, l)
	l, port, err = Listen(t.Context(), ListenOptions{Port: port, Local: true, Dir: dir, PID: 5})
	if !errors.Is(err, os.ErrExist) || len(l) == 0 || port == 0 {
		t.Errorf("a file is in the way: %d listeners, %v", len(l), err)
	}
	closeAll(t, l)
	l, _, err = Listen(t.Context(), ListenOptions{Port: port, Local: true, Dir: filepath.Join(dir, "none")})
	if !errors.Is(err, os.ErrNotExist) || len(l) == 0 {
		t.Errorf("no directory: %d listeners, %v", len(l), err)
	}
	closeAll(t, l)
}

// As PCP's pmlogger, one listens on IPv4 and IPv6 apart.
func TestListenTCP(t *testing.T) {
	port := pcptest.FreePort(t)
	for _, o := range []ListenOptions{{Port: port}, {Port: port, Local: true}} {
		listeners, _, err := Listen(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for i, ln := range listeners {
			if ip := ln.Addr().(*net.TCPAddr).IP; (ip.To4() != nil) != (i == 0) || ip.IsLoopback() != o.Local || ip.IsUnspecified() == o.Local {
				t.Errorf("%+v: listener %d on %v", o, i, ip)
			}
		}
		if len(listeners) != 2 {
			t.Logf("%d listeners: this host has no IPv6", len(listeners))
		}
		closeAll(t, listeners)
	}
}
