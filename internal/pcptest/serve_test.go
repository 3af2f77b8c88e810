package pcptest_test

import (
	"io"
	"net"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestServe has a client that is served, and one that waits for ever: the end of the test ends it.
func TestServe(t *testing.T) {
	var ended int
	t.Run("test", func(t *testing.T) {
		calls := make(chan struct{}, 2)
		addr := pcptest.Serve(t, func(conn net.Conn) {
			calls <- struct{}{}
			io.Copy(conn, conn)
			<-calls
		})
		for range 2 {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() }) // after the end of the first, which comes before
			got := make([]byte, 4)
			if _, err := conn.Write([]byte("ping")); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(conn, got); err != nil || string(got) != "ping" {
				t.Errorf("read %q, %v", got, err)
			}
		}
		t.Cleanup(func() { ended = len(calls) })
	})
	if ended != 2 {
		t.Errorf("%d clients were served to the end of the test, want 2", ended)
	}
}
