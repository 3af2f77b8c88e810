package rawconn_test

import (
	"net"
	"testing"

	"github.com/pcp-go/pcp/internal/rawconn"
)

// TestEnded looks at a connection before and after the other end closes it.
func TestEnded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if rawconn.Ended(conn) {
		t.Error("ended before the other end closes it")
	}
	other.Close()
	if !rawconn.Ended(conn) {
		t.Error("not ended after the other end has closed it")
	}
	inMemory, peer := net.Pipe()
	peer.Close()
	if rawconn.Ended(inMemory) {
		t.Error("a stream in memory has ended")
	}
}
