package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pmdaroot"
	"github.com/pcp-go/pcp/pdu"
)

// rootWords is a PDU of pmdaroot, or its beginning.
func rootWords(kind pmdaroot.Kind, words ...uint32) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(kind))
	for _, w := range words {
		b = binary.NativeEndian.AppendUint32(b, w)
	}
	return b
}

// dialRoot connects to pmdaroot, and reads the PDU that it sends first.
func dialRoot(t *testing.T, socket string) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute))
	info := make([]byte, 24)
	if _, err := io.ReadFull(c, info); err != nil || !bytes.Equal(info, rootWords(pmdaroot.Info, 24, 0, 2, 7, 0)) {
		t.Fatalf("pmdaroot begins with %x, %v", info, err)
	}
	return c
}

// A rootReply is what pmdaroot says of a container.
type rootReply struct {
	status int32
	pid    int
	name   string
}

// askRoot asks pmdaroot for a container in a version of the protocol.
func askRoot(t *testing.T, c net.Conn, kind pmdaroot.Kind, version uint32, container string) (r rootReply, err error) {
	t.Helper()
	n := len(container) + 1
	request := append(append(rootWords(kind, uint32(24+n), 0, version, 0, uint32(n)), container...), 0)
	if _, err := c.Write(request); err != nil {
		return r, err
	}
	head := make([]byte, 24)
	if _, err := io.ReadFull(c, head); err != nil {
		return r, err
	}
	word := func(at int) uint32 { return binary.NativeEndian.Uint32(head[at:]) }
	length := word(4)
	if pmdaroot.Kind(word(0)) != kind+1 || word(12) != 2 || length < 24 || length > 24+256 {
		t.Fatalf("%#x of %q: reply %x", kind, container, head)
	}
	name := make([]byte, length-24)
	_, err = io.ReadFull(c, name)
	r.status, r.pid = int32(word(8)), int(int32(word(16)))
	r.name, _, _ = strings.Cut(string(name), "\x00")
	return r, err
}

// checkRootSocket talks to the pmdaroot that a pmcd has started as programs do that know the names
// of containers. web is the process of the one that runs.
func checkRootSocket(t *testing.T, socket string, web int) {
	t.Helper()
	c := dialRoot(t, socket)
	for _, tt := range []struct {
		kind      pmdaroot.Kind
		version   uint32
		container string
		want      rootReply
	}{
		{pmdaroot.ProcessID, 2, "web", rootReply{pid: web}},
		{pmdaroot.ProcessID, 2, "/web", rootReply{pid: web}},
		{pmdaroot.ProcessID, 2, containerIDs["web"], rootReply{pid: web}},
		{pmdaroot.ProcessID, 2, containerIDs["web"][:15], rootReply{pid: web}},
		{pmdaroot.ProcessID, 1, "web", rootReply{pid: web}},
		{pmdaroot.ProcessID, 2, "stopped", rootReply{pid: -1}},
		{pmdaroot.ProcessID, 2, "nosuch", rootReply{status: int32(pdu.ErrNoContainer)}},
		{pmdaroot.Hostname, 2, "web", rootReply{pid: web, name: "conthost1"}},
	} {
		if got, err := askRoot(t, c, tt.kind, tt.version, tt.container); err != nil || got != tt.want {
			t.Errorf("%#x, version %d, of %q: %+v, %v; want %+v", tt.kind, tt.version, tt.container, got, err, tt.want)
		}
	}
	if got, err := askRoot(t, c, pmdaroot.Hostname, 2, "stopped"); err != nil || got.status != -int32(syscall.ENOENT) {
		t.Errorf("the host name of a container that does not run: %+v, %v", got, err)
	}
	_, err := askRoot(t, dialRoot(t, socket), pmdaroot.ProcessID, 3, "web")
	if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("a version that pmdaroot does not know: %v, want the end of the connection", err)
	}
}
