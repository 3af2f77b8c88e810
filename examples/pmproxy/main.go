// Pmproxy serves the metrics of collectors and archives over HTTP, as Grafana's data source for PCP
// and scripts request them, and passes PCP's clients on to collectors that they cannot reach
// themselves: the REST interface and the protocol of PCP's pmproxy, whose options it takes as far
// as they concern that.
//
//	go run ./examples/pmproxy -p 44322 --allow web1
//	curl 'localhost:44322/pmapi/fetch?names=kernel.all.load'
//	pminfo -h web1@localhost -f kernel.all.load
//
// It runs in the foreground, on the loopback interface unless -i says otherwise, and connects to
// the collector of this computer alone unless --allow names others. With a certificate in tls.conf
// (PCP_TLSCONF_PATH) or in the configuration file of -c the same port serves TLS as well. There is
// no key server: -h and -r are taken for the sake of scripts, and logged. With --push, and not
// otherwise, it receives archives that other computers record, see package push.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/pcp-go/pcp/examples/internal/gatewayserver"
	"github.com/pcp-go/pcp/examples/internal/hint"
	"github.com/pcp-go/pcp/examples/internal/pmproxyconf"
	"github.com/pcp-go/pcp/examples/internal/requestport"
	"github.com/pcp-go/pcp/internal/daemonfile"
	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/proxy"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

const defaultPort = "44322"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

// run returns the exit status.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	o := new(options)
	set := o.set()
	operands, errs := set.Parse(args)
	if len(operands) > 0 {
		errs = append(errs, fmt.Errorf("unexpected argument %q", operands[0]))
	}
	if len(errs) == 0 {
		if err := o.complete(); err != nil {
			errs = append(errs, err)
		}
	}
	if set.Report(stderr, errs) {
		if slices.ContainsFunc(errs, func(err error) bool { return errors.Is(err, getopt.ErrUsage) }) {
			return 0
		}
		return 1
	}
	if err := o.serve(ctx); err != nil {
		o.reportFailure(stderr, err)
		return 1
	}
	return 0
}

// reportFailure says why the program has ended, where -x wants it.
func (o *options) reportFailure(stderr io.Writer, err error) {
	if o.fatal != "" && o.fatal != "-" {
		f, openErr := daemonfile.Create(o.fatal)
		if openErr == nil {
			defer f.Close()
			stderr = f
		} else {
			err = errors.Join(err, openErr)
		}
	}
	fmt.Fprintf(stderr, "pmproxy: %v\n", err)
}

// serve serves until ctx ends.
func (o *options) serve(ctx context.Context) error {
	if o.log != "" {
		l, err := daemonfile.OpenLog(o.log, "pmproxy")
		if err != nil {
			return err
		}
		defer func() { _ = l.Finish() }()
		slog.SetDefault(slog.New(slog.NewTextHandler(l, nil)))
	}
	if o.life > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.life)
		defer cancel()
	}
	conf, err := pmproxyconf.Read(o.config)
	if err != nil {
		return err
	}
	if o.keyServer {
		slog.Warn("there is no key server: /series and /search say so to their clients, whatever -h and -r name")
	}
	gw, err := o.gateway()
	if err != nil {
		return err
	}
	defer gw.Close()
	receiver, err := o.push.receiver(gw)
	if err != nil {
		return err
	}
	if receiver != nil {
		defer receiver.Close()
	}
	clients := &proxy.Proxy{Allow: gw.MayConnect}
	if clients.TLS, err = conf.Serving(); err != nil {
		return err
	}
	if clients.RequireTLS = o.tlsOnly; o.tlsOnly && clients.TLS == nil {
		return errors.New("--tls-only needs a certificate: set tls-cert-file and tls-key-file in the tls.conf that PCP_TLSCONF_PATH names, or certificates and private_key in the file of -c")
	}
	if conf.NoPCP {
		clients.Allow = func(string, int) bool { return false }
	}
	defer clients.Close()
	listeners, err := o.listen()
	if err != nil {
		return err
	}
	undo, err := o.becomeService()
	defer undo()
	if err != nil {
		requestport.Close(listeners)
		return err
	}
	srv := &gatewayserver.Server{Gateway: gw, Receiver: receiver, Clients: clients, NoHTTP: o.proxyOnly || conf.NoHTTP, Proxies: o.proxies}
	return srv.Serve(ctx, listeners)
}

// gateway makes the handler.
func (o *options) gateway() (*webapi.Gateway, error) {
	d, err := pmapi.DialerFromEnv()
	if err != nil {
		slog.Warn("environment", slog.Any("err", err))
	}
	d.Derived = new(pmapi.Derived)
	if err := d.Derived.LoadEnv(); err != nil {
		slog.Warn("derived metrics", slog.Any("err", err))
	}
	gw := &webapi.Gateway{Dialer: d, Metrics: &mmv.Registry{Name: "gateway"}, Origins: o.origins, AllowStore: o.allowStore, Sources: map[string]func(context.Context) (*pmapi.Context, error){}}
	if o.allow != nil {
		gw.Allow = append([]string{"localhost", "127.0.0.1", "[::1]"}, o.allow...)
	}
	archives := pmapi.ArchiveOptions{Derived: d.Derived}
	for _, a := range o.archives {
		name, path, _ := strings.Cut(a, "=")
		c, err := archives.Open(context.Background(), path)
		if err != nil {
			return nil, err
		}
		_ = c.Close()
		gw.Sources[name] = webapi.Shared(func(ctx context.Context) (*pmapi.Context, error) { return archives.Open(ctx, path) })
	}
	return gw, nil
}

// listen listens on all ports of all interfaces, and on the socket.
func (o *options) listen() (all []net.Listener, err error) {
	if len(o.ports) == 0 {
		o.ports = []string{defaultPort}
	}
	if len(o.interfaces) == 0 {
		o.interfaces = []string{"localhost"}
	}
	for _, host := range o.interfaces {
		for _, port := range o.ports {
			addr := net.JoinHostPort(host, port)
			l, err := net.Listen("tcp", addr)
			if err != nil {
				requestport.Close(all)
				return nil, hint.Listen(addr, err, "pmproxy", "-p")
			}
			all = append(all, l)
		}
	}
	if o.socket != "" {
		l, _, err := daemonfile.Socket{Path: o.socket, Mode: 0o666}.Listen()
		if err != nil {
			requestport.Close(all)
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}
