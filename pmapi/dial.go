package pmapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// Dial opens a context on a collector with the defaults of a Dialer; see
// Dialer.Dial. The counterpart of pmNewContext(3).
func Dial(ctx context.Context, spec string) (*Context, error) { return new(Dialer).Dial(ctx, spec) }

// errNoHost is EHOSTUNREACH in Linux's numbers.
const errNoHost pdu.Error = -113

// Dial opens a context on the collector that a host specification names:
// "web1.example.com", "web1:44321,4321", "[::1]", "unix:", "unix:///run/x.socket",
// "local:", which is the socket or else TCP on this computer.
//
// Errors: pdu.ErrNotHost for an empty specification, one that tells where a
// specification is malformed, errors.ErrUnsupported for encryption, authentication,
// containers and proxies, EHOSTUNREACH (syscall.EHOSTUNREACH) for a host that has no
// address, pdu.ErrPermission or pdu.ErrConnLimit if the collector refuses, or what
// the network reports.
func (d *Dialer) Dial(ctx context.Context, spec string) (*Context, error) {
	n := d.complete()
	open, name, err := n.opener(spec)
	if err != nil {
		return nil, &OpError{Op: "dial", Host: spec, Err: err}
	}
	return n.newContext(ctx, name, open)
}

// tcp opens a connection to the first port of a host that takes one.
func (n Dialer) tcp(host string, ports []int, want pdu.Features) opener {
	return func(ctx context.Context) (l *link, err error) {
		for _, port := range ports {
			if l, err = n.connect(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)), want); err == nil || ctx.Err() != nil {
				break
			}
		}
		if dns, ok := errors.AsType[*net.DNSError](err); ok {
			err = fmt.Errorf("%w: %w", errNoHost, dns)
		}
		return l, err
	}
}

// opener is how to connect to what a specification names, and its name.
func (n Dialer) opener(spec string) (opener, string, error) {
	host, port, err := net.SplitHostPort(spec)
	if err != nil {
		host, port = spec, strconv.Itoa(DefaultPort)
	}
	if path, ok := strings.CutPrefix(spec, "unix://"); ok {
		return func(ctx context.Context) (*link, error) { return n.connect(ctx, "unix", path, 0) }, path, nil
	}
	p, err := strconv.Atoi(port)
	if err != nil {
		return nil, "", err
	}
	return n.tcp(host, []int{p}, 0), host, nil
}
