package proxy_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/proxy"
	"github.com/pcp-go/pcp/pmda/collector"
)

// listen listens on a free port of this computer.
func listen() net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	return l
}

// A client reads the metrics of a collector through a proxy. The proxy allows no other collector.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	collectorAt, proxyAt := listen(), listen()
	srv := new(collector.Server)
	served := make(chan error)
	go func() { served <- srv.Serve(ctx, collectorAt) }()
	port := collectorAt.Addr().(*net.TCPAddr).Port

	p := &proxy.Proxy{
		Allow: func(host string, p int) bool { return host == "127.0.0.1" && p == port },
		Log:   slog.New(slog.DiscardHandler), // refused clients; nil means slog.Default()
	}
	proxied := make(chan error)
	go func() { proxied <- p.Serve(proxyAt) }()

	c, err := pmapi.Dial(ctx, fmt.Sprintf("127.0.0.1:%d@%s", port, proxyAt.Addr()))
	if err != nil {
		log.Fatal(err)
	}
	names, err := c.Lookup(ctx, []string{"pmcd.numclients"})
	fmt.Println(names, err)
	c.Close()

	_, err = pmapi.Dial(ctx, fmt.Sprintf("127.0.0.1:1@%s", proxyAt.Addr()))
	fmt.Println(err != nil)

	proxyAt.Close()
	<-proxied
	p.Close()
	cancel()
	fmt.Println(<-served)
	// Output:
	// [2.0.3] <nil>
	// true
	// <nil>
}
