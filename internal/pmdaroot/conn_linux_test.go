package pmdaroot

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// rootPDU is a PDU as pmdaroot sends it.
func rootPDU(kind Kind, status int32, body []byte) []byte {
	b := appendPDU(nil, kind, body)
	binary.NativeEndian.PutUint32(b[8:], uint32(status))
	return b
}

func containerReply(kind Kind, status, pid int32, text string) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(pid))
	b = binary.NativeEndian.AppendUint32(b, uint32(len(text)))
	return rootPDU(kind, status, append(b, text...))
}

var info = rootPDU(Info, 0, []byte{7, 0, 0, 0, 0, 0, 0, 0})

// serveRoot listens at a socket and calls serve for each connection, with its number from 0.
func serveRoot(t *testing.T, serve func(n int, c *net.UnixConn)) (socket string) {
	t.Helper()
	socket = filepath.Join(pcptest.ShortDir(t), "root.socket")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: socket})
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	var open sync.Map
	serving.Go(func() {
		for n := 0; ; n++ {
			c, err := ln.AcceptUnix()
			if err != nil {
				return
			}
			open.Store(c, true)
			serving.Go(func() {
				defer c.Close()
				serve(n, c)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		open.Range(func(c, _ any) bool { c.(*net.UnixConn).Close(); return true })
		serving.Wait()
	})
	return socket
}

// request reads a request about a container.
func request(c io.Reader) (kind Kind, name string, ok bool) {
	b := make([]byte, maxPDU)
	n, err := c.Read(b)
	if err != nil || n < headerLen+containerLen {
		return 0, "", false
	}
	_, name, err = parseContainer(b[headerLen:n])
	return Kind(binary.NativeEndian.Uint32(b)), name, err == nil
}

// like serves as pmdaroot with the container web.
func like(c *net.UnixConn) {
	c.Write(info)
	for {
		kind, name, ok := request(c)
		switch {
		case !ok:
			return
		case name == "stopped" && kind == Hostname: // with what was in its buffer
			c.Write(containerReply(kind+1, -2, 0, strings.Repeat("secret\x00", 9)))
		case name != "web":
			c.Write(containerReply(kind+1, -12399, 0, ""))
		case kind == ProcessID:
			c.Write(containerReply(kind+1, 0, 15, ""))
		case kind == Hostname:
			c.Write(containerReply(kind+1, 0, 15, "conthost1"))
		case kind == CgroupName:
			c.Write(containerReply(kind+1, 0, 15, "docker/aabb"))
		}
	}
}

// A Client gets what pmdaroot knows, and its errors.
func TestClient(t *testing.T) {
	c := NewClient(serveRoot(t, func(_ int, c *net.UnixConn) { like(c) }))
	defer c.Close()
	if pid, err := c.ProcessID(t.Context(), "web"); pid != 15 || err != nil {
		t.Errorf("process %d, %v", pid, err)
	}
	if name, err := c.Hostname(t.Context(), "web"); name != "conthost1" || err != nil {
		t.Errorf("host %q, %v", name, err)
	}
	if name, err := c.CgroupName(t.Context(), "web"); name != "docker/aabb" || err != nil {
		t.Errorf("control group %q, %v", name, err)
	}
	if name, err := c.Hostname(t.Context(), "stopped"); name != "" || !errors.Is(err, syscall.ENOENT) {
		t.Errorf("host of a stopped container %q, %v", name, err)
	}
	for _, name := range []string{"nosuch", "", "a\x00b", strings.Repeat("n", MaxContainerName+1), strings.Repeat("n", 1<<20)} {
		if _, err := c.ProcessID(t.Context(), name); !errors.Is(err, pdu.ErrNoContainer) {
			t.Errorf("%.10q: %v", name, err)
		}
	}
	if _, err := NewClient(filepath.Join(t.TempDir(), "none")).ProcessID(t.Context(), "web"); !errors.Is(err, pdu.ErrNotConn) || pdu.FromError(err) != pdu.ErrNotConn {
		t.Errorf("without pmdaroot: %v", err)
	}
	c.Close()
	if _, err := c.ProcessID(t.Context(), "web"); !errors.Is(err, pdu.ErrNotConn) {
		t.Errorf("after Close: %v", err)
	}
}

// A Client connects again when pmdaroot has been started anew.
func TestReconnect(t *testing.T) {
	c := NewClient(serveRoot(t, func(n int, c *net.UnixConn) {
		if n > 0 {
			like(c)
			return
		}
		c.Write(info)
		request(c)
		c.Write(containerReply(ProcessID+1, 0, 14, ""))
		request(c)
	}))
	defer c.Close()
	for want := 14; want <= 15; want++ {
		if pid, err := c.ProcessID(t.Context(), "web"); pid != want || err != nil {
			t.Errorf("process %d, %v, want %d", pid, err, want)
		}
	}
}

// A reply that comes too late is thrown away, and the connection goes on, where no other can be
// made.
func TestLateReply(t *testing.T) {
	asked, late, connections := make(chan bool), make(chan bool), atomic.Int32{}
	socket := serveRoot(t, func(_ int, c *net.UnixConn) {
		connections.Add(1)
		c.Write(info)
		request(c)
		asked <- true
		<-late
		c.Write(containerReply(Hostname+1, 0, 14, "late"))
		for {
			if _, name, ok := request(c); !ok || name != "web" {
				return
			}
			c.Write(containerReply(ProcessID+1, 0, 15, ""))
		}
	})
	c := NewClient(socket)
	defer c.Close()
	if err := c.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(socket, socket+"2"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if name, err := c.Hostname(ctx, "slow"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("host %q, %v", name, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if pid, err := c.ProcessID(ended, "other"); err == nil {
		t.Fatalf("process %d before the late reply", pid)
	}
	close(late)
	for range 3 {
		if pid, err := c.ProcessID(t.Context(), "web"); pid != 15 || err != nil {
			t.Fatalf("process %d, %v", pid, err)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// While a request has no reply others are answered, on another connection; and one that was not
// answered in time fails at once.
func TestStuckRequest(t *testing.T) {
	asked, end := make(chan bool, 9), make(chan bool)
	c := NewClient(serveRoot(t, func(_ int, c *net.UnixConn) {
		c.Write(info)
		for {
			kind, name, ok := request(c)
			if !ok {
				return
			}
			if name == "stuck" {
				asked <- true
				<-end
				return
			}
			c.Write(containerReply(kind+1, 0, 15, ""))
		}
	}))
	defer c.Close()
	defer close(end)
	failed := make(chan error, 1)
	go func() {
		_, err := c.ProcessID(t.Context(), "stuck")
		failed <- err
	}()
	<-asked
	others := func() {
		t.Helper()
		for range 3 {
			if pid, err := c.ProcessID(t.Context(), "web"); pid != 15 || err != nil {
				t.Fatalf("process %d, %v", pid, err)
			}
		}
	}
	others()
	select {
	case err := <-failed:
		t.Fatalf("the others waited for it: %v", err)
	default:
	}
	if err := <-failed; pdu.FromError(err) != pdu.ErrAgain {
		t.Errorf("%v", err)
	}
	others()
	if _, err := c.ProcessID(t.Context(), "stuck"); pdu.FromError(err) != pdu.ErrAgain || len(asked) > 0 {
		t.Errorf("a second time: %v", err)
	}
}

// TestHostileReplies checks that malformed replies are errors, and that the connection is not used
// again.
func TestHostileReplies(t *testing.T) {
	good := containerReply(ProcessID+1, 0, 15, "")
	change := func(at int, v uint32) []byte {
		b := append([]byte(nil), good...)
		binary.NativeEndian.PutUint32(b[at:], v)
		return b
	}
	for _, tt := range []struct {
		name, want string
		greeting   []byte
		reply      []byte
	}{
		{"no greeting", "EOF", nil, nil},
		{"another greeting", "want type 0x9000", good, nil},
		{"refused", "want type 0x9000", rootPDU(Info, -1, make([]byte, 8)), nil},
		{"another type", "want type 0x9004", info, change(0, 0x9002)},
		{"shorter than a header", "PDU of 15 bytes", info, change(4, 15)},
		{"endless", "PDU of 4294967295 bytes", info, change(4, 1<<32-1)},
		{"too long", "PDU of 8193 bytes", info, change(4, maxPDU+1)},
		{"newer version", "version 3", info, change(12, 3)},
		{"no body", "has sent 16 bytes", info, rootPDU(ProcessID+1, 0, nil)},
		{"cut off", "EOF", info, good[:20]},
		{"cut off in the header", "EOF", info, good[:9]},
		{"a longer text than there is", "no such long text", info, change(20, 1)},
		{"descriptors of nobody", "EOF", info, []byte{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := NewClient(serveRoot(t, func(_ int, c *net.UnixConn) {
				c.Write(tt.greeting)
				if tt.reply != nil {
					request(c)
					c.WriteMsgUnix(tt.reply, syscall.UnixRights(0, 1), nil)
				}
			}))
			defer c.Close()
			if pid, err := c.ProcessID(t.Context(), "web"); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("process %d, %v, want %q", pid, err, tt.want)
			}
		})
	}
}

// FuzzReply checks that the client ends with any reply, and that a name it returns is in the reply.
func FuzzReply(f *testing.F) {
	f.Add(info, containerReply(Hostname+1, 0, 15, "conthost1"))
	f.Add(info, containerReply(Hostname+1, -12399, 0, ""))
	f.Add(append(info, info...), []byte{})
	f.Fuzz(func(t *testing.T, greeting, reply []byte) {
		fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		var ends [2]*net.UnixConn
		for i, fd := range fds {
			file := os.NewFile(uintptr(fd), "pair")
			nc, err := net.FileConn(file)
			file.Close()
			if err != nil {
				t.Fatal(err)
			}
			ends[i] = nc.(*net.UnixConn)
			defer ends[i].Close()
		}
		if _, err := ends[1].Write(append(append([]byte(nil), greeting...), reply...)); err != nil || ends[1].CloseWrite() != nil {
			t.Skip(err)
		}
		ends[0].SetDeadline(time.Now().Add(time.Minute))
		conn := newConn(ends[0])
		if conn.greeted() != nil {
			return
		}
		c := NewClient("none")
		c.conn = conn
		defer c.Close()
		if name, err := c.Hostname(t.Context(), "web"); err == nil && !strings.Contains(string(append(greeting, reply...)), name) {
			t.Errorf("%q is not in %x", name, reply)
		}
	})
}
