package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/pcp-go/pcp/archive/push"
	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
)

// pushOptions are those of the receiver of archives, which runs only if they name a directory.
type pushOptions struct {
	push.ReceiverOptions
	users usersFile
}

func (o *pushOptions) options() []getopt.Option {
	return []getopt.Option{
		{Heading: "Archive push options"},
		{Long: "push", Arg: "DIR", Help: "receive the archives of loggers at /logger, in this directory [default none]", Set: func(v string) error { o.Dir = v; return nil }},
		{Long: "push-users", Arg: "FILE", Help: "let the users of this file push: lines of name, password and hosts, for its owner's eyes alone", Set: func(v string) error { o.users.path = v; return nil }},
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
	if o.Dir == "" && (o.users.path != "" || len(o.Networks) > 0 || o.Limits.MaxBytes > 0 || o.UTC) {
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

// receiver opens the receiver and registers its metrics. It returns nil if o.Dir is empty.
func (o *pushOptions) receiver(reg *mmv.Registry) (r *push.Receiver, err error) {
	if o.Dir == "" {
		return nil, nil
	}
	if o.users.path != "" {
		if o.Users, err = o.users.read(); err != nil {
			return nil, err
		}
	}
	if r, err = o.Open(); err != nil {
		return nil, err
	}
	counter := func(name, text string, units pdu.Units) *mmv.Gauge {
		return reg.Gauge(name, mmv.Metric{Text: text, Units: units, Sem: pdu.SemCounter})
	}
	archives := counter("push.archives", "Archives that loggers have begun to push", pdu.UnitCount)
	requests := counter("push.requests", "Requests of loggers that push", pdu.UnitCount)
	refused := counter("push.refused", "Requests of loggers that were refused", pdu.UnitCount)
	bytes := counter("push.bytes", "Bytes of pushed archives that were written", pdu.SpaceByte)
	open := reg.Gauge("push.open", mmv.Metric{Text: "Archives that are being pushed", Units: pdu.UnitCount})
	reg.OnRead(func() {
		s := r.Stats()
		archives.Set(int64(s.Archives))
		requests.Set(int64(s.Requests))
		refused.Set(int64(s.Refused))
		bytes.Set(int64(s.Bytes))
		open.Set(int64(s.Open))
	})
	return r, nil
}

// settleTime is how long a changed file must stay as it is until it counts, so that no request sees
// one that is half written.
const settleTime = time.Second

// A usersFile is the file of --push-users, which counts as soon as it changes.
type usersFile struct {
	path string

	mu   sync.Mutex
	seen os.FileInfo // of the file that was read last
}

// follow sets the users of a receiver if the file has changed. A file that cannot be used changes
// nothing.
func (f *usersFile) follow(r *push.Receiver) {
	if f.path == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if err != nil {
		if f.seen != nil {
			f.seen = nil
			slog.Error("the users who may push stay as they are", slog.Any("err", err))
		}
		return
	}
	if age := time.Since(info.ModTime()); f.seen != nil && os.SameFile(f.seen, info) && f.seen.Size() == info.Size() &&
		f.seen.Mode() == info.Mode() && f.seen.ModTime().Equal(info.ModTime()) || age >= 0 && age < settleTime {
		return
	}
	users, err := f.read()
	if err != nil {
		f.seen = info
		slog.Error("the users who may push stay as they are", slog.Any("err", err))
		return
	}
	r.SetUsers(users)
	slog.Info("the users who may push have changed", slog.String("file", f.path), slog.Int("users", len(users)))
}

// read reads the file, which others must not be able to read.
func (f *usersFile) read() ([]push.User, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		err = errors.New("others can read the passwords: chmod 600")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	users, err := push.ParseUsers(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	f.seen = info
	return users, nil
}
