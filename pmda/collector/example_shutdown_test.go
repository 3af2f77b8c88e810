//go:build unix

package collector_test

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda/collector"
)

// A collector takes the place of another one without a gap. Here both are in one process; otherwise
// the file goes to the other process in the ExtraFiles of an exec.Cmd.
func ExampleServer_Shutdown() {
	ctx := context.Background()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	older := &collector.Server{Hostname: "older"}
	olderEnded := make(chan error)
	go func() { olderEnded <- older.Serve(ctx, ln) }()

	file, err := collector.ListenerFile(ln)
	if err != nil {
		fmt.Println(err)
		return
	}
	same, err := net.FileListener(file)
	if err != nil {
		fmt.Println(err)
		return
	}
	file.Close()
	newer := &collector.Server{Hostname: "newer"}
	newerEnded := make(chan error)
	go func() { newerEnded <- newer.Serve(ctx, same) }()

	limit, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	fmt.Println("older:", older.Shutdown(limit), <-olderEnded)
	c, err := pmapi.Dial(ctx, ln.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	fmt.Println(c.HostName(ctx))
	fmt.Println("newer:", newer.Close(), <-newerEnded)
	// Output:
	// older: <nil> <nil>
	// newer
	// newer: <nil> <nil>
}
