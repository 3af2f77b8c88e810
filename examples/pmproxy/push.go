package main

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"

	"github.com/pcp-go/pcp/archive/push"
	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

// pushOptions are those of the receiver of archives, which runs only if they name a directory.
type pushOptions struct{ push.ReceiverOptions }

func (o *pushOptions) options() []getopt.Option {
	return []getopt.Option{
		{Heading: "Archive push options"},
		{Long: "push", Arg: "DIR", Help: "receive the archives of loggers at /logger, in this directory [default none]", Set: func(v string) error { o.Dir = v; return nil }},
		{Long: "push-users", Arg: "FILE", Help: "let the users of this file push: lines of name, password and hosts, for its owner's eyes alone", Set: func(v string) error { o.UsersFile = v; return nil }},
		{Long: "push-from", Arg: "ADDR[/BITS]", Help: "let clients of this address push without a password [default this computer]", Set: (*networks)(&o.Networks).add},
		{Long: "push-max", Arg: "MBYTES", Help: "receive no more if the directory has so many megabytes [default 262144]", Set: o.setMax},
		{Long: "push-utc", Help: "name archives by UTC", Set: func(string) error { o.UTC = true; return nil }},
	}
}

// networks are addresses and networks of clients.
type networks []netip.Prefix

// add adds an address, or a network.
func (n *networks) add(v string) error {
	p, err := netip.ParsePrefix(v)
	if addr, addrErr := netip.ParseAddr(v); addrErr == nil {
		p, err = netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), nil
	}
	if err != nil {
		return fmt.Errorf("bad address %q: want ADDR or ADDR/BITS, such as 10.0.0.0/8", v)
	}
	*n = append(*n, p)
	return nil
}

// complete checks what the options are together.
func (o *pushOptions) complete() error {
	if o.Dir == "" && (o.UsersFile != "" || len(o.Networks) > 0 || o.Limits.MaxBytes > 0 || o.UTC) {
		return errors.New("options --push-… are without effect without --push")
	}
	return nil
}

func (o *pushOptions) setMax(v string) error {
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil || n <= 0 {
		return errors.New("--push-max requires a positive numeric argument")
	}
	o.Limits.MaxBytes = n << 20
	return nil
}

// receiver opens the receiver, which counts its work in the metrics of the gateway. It returns nil
// without a directory.
func (o *pushOptions) receiver(gw *webapi.Gateway) (*push.Receiver, error) {
	if o.Dir == "" {
		return nil, nil
	}
	o.Metrics = gw.Metrics
	return o.Open()
}
