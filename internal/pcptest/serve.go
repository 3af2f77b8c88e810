package pcptest

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// serveTime is how long a connection of Serve lasts at most, so that a peer that hangs fails its
// test and not all.
const serveTime = 5 * time.Minute

// Serve listens on a port of the loopback interface until the test ends and returns its address. It
// calls client with each connection on a new goroutine and closes the connection when client
// returns. The end of the test closes all connections and waits for the calls.
func Serve(t testing.TB, client func(conn net.Conn)) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	var calls sync.WaitGroup
	calls.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			calls.Go(func() {
				defer conn.Close()
				defer context.AfterFunc(ctx, func() { conn.Close() })()
				conn.SetDeadline(time.Now().Add(serveTime))
				client(conn)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		end()
		calls.Wait()
	})
	return ln.Addr().String()
}
