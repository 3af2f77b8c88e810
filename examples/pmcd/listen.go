package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/internal/pcpconf"
)

// listen opens the ports and the socket. Without a configuration file all of them
// have to open, so that nobody uses another collector by mistake; with one it is
// enough if any does, as for pmcd. The errors are those of the others.
func (o *options) listen(conf *pcpconf.Conf) (open []net.Listener, errs []error) {
	for _, addr := range o.addresses() {
		l, err := net.Listen(addr[0], addr[1])
		switch {
		case err == nil:
			open = append(open, l)
		case addr[0] == "tcp6" && (errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT)):
			// The host has no IPv6.
		case addr[0] == "tcp6" && len(errs) > 0:
			// The error for IPv4 is the same.
		default:
			errs = append(errs, explain(err, addr[1]))
		}
	}
	l, err := o.listenUnix(conf)
	if err != nil {
		errs = append(errs, err)
	} else if l != nil {
		open = append(open, l)
	}
	return open, errs
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		l.Close()
	}
}

// explain adds to an error what the user can do about it.
func explain(err error, addr string) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("cannot listen on %s: the port is in use, perhaps by another pmcd: end that or choose a port with -p", addr)
	}
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("cannot listen on %s: no permission: choose a port above 1023 with -p", addr)
	}
	return fmt.Errorf("cannot listen on %s: %w", addr, err)
}

// addresses are the networks and addresses to listen on.
func (o *options) addresses() [][2]string {
	interfaces := o.interfaces
	if len(interfaces) == 0 {
		if interfaces = []string{"INADDR_ANY"}; o.config == "" {
			interfaces = []string{"INADDR_LOOPBACK"}
		}
	}
	var all [][2]string
	add := func(network, host, port string) {
		if a := [2]string{network, net.JoinHostPort(host, port)}; !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	for _, i := range interfaces {
		for _, p := range o.ports {
			switch i {
			case "INADDR_ANY":
				add("tcp4", "0.0.0.0", p)
				add("tcp6", "::", p)
			case "INADDR_LOOPBACK":
				add("tcp4", "127.0.0.1", p)
				if p != "0" {
					add("tcp6", "::1", p)
				}
			default:
				add("tcp", i, p)
			}
		}
	}
	return all
}

// listenUnix opens the unix socket: that of -s or PMCD_SOCKET, else PCP's own,
// else, without a configuration file, one in a directory of the user.
func (o *options) listenUnix(conf *pcpconf.Conf) (net.Listener, error) {
	if o.socket != "" {
		return listenAt(o.socket)
	}
	l, err := listenAt(filepath.Join(conf.Get("PCP_RUN_DIR"), "pmcd.socket"))
	if err == nil || o.config != "" {
		return l, err
	}
	own := filepath.Join(os.TempDir(), "pmcd-"+strconv.Itoa(os.Getuid())+".socket")
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		own = filepath.Join(dir, "pmcd.socket")
	}
	l, err = listenAt(own)
	if errors.Is(err, syscall.EAFNOSUPPORT) || errors.Is(err, errors.ErrUnsupported) {
		return nil, nil // a system without unix sockets
	}
	return l, err
}

// listenAt listens on a unix socket. It replaces a socket that a collector has left
// behind, but not that of one that still serves.
func listenAt(path string) (net.Listener, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if c, err := new(net.Dialer).DialContext(ctx, "unix", path); err == nil {
		c.Close()
		return nil, fmt.Errorf("cannot listen on %s: another pmcd serves it: end that or choose a path with -s", path)
	} else if errors.Is(err, syscall.ECONNREFUSED) {
		os.Remove(path)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: choose a path that can be written to with -s: %w", path, err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}
