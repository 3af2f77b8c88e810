package rawconn

import (
	"io"
	"net"
	"testing"
)

func TestDescriptor(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	socket, listener := Descriptor(c), Descriptor(ln)
	if socket < 3 || listener < 3 || socket == listener {
		t.Errorf("a socket has %d, its listener %d", socket, listener)
	}
	c.Close()
	if fd := Descriptor(c); fd != -1 {
		t.Errorf("what is closed has %d", fd)
	}
	r, w := io.Pipe()
	defer r.Close()
	defer w.Close()
	if fd := Descriptor(r); fd != -1 {
		t.Errorf("what is in memory has %d", fd)
	}
	if fd := Descriptor(nil); fd != -1 {
		t.Errorf("nothing has %d", fd)
	}
}
