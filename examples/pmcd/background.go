package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pcp-go/pcp/internal/account"
	"github.com/pcp-go/pcp/internal/pcpconf"
)

// inBackground reports whether the program leaves the terminal, as a service does.
func (o *options) inBackground() bool { return o.config != "" && !o.foreground }

// settle is what a collector in the background does when its agents have started,
// with the privileges that it was started with: it leaves its process id in the
// place for that, tells the service manager, and becomes the user of -U. What it
// returns takes the first two back.
func (o *options) settle(conf *pcpconf.Conf, log *slog.Logger) (leave func(), err error) {
	if !o.inBackground() {
		return func() {}, nil
	}
	file := filepath.Join(conf.Get("PCP_RUN_DIR"), "pmcd.pid")
	os.Remove(file) // of one that was killed, which nobody may write to
	if err := os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())), 0o444); err != nil {
		log.Warn("process id not noted", slog.Any("err", err))
	}
	if err := notify("READY=1\nMAINPID=" + strconv.Itoa(os.Getpid())); err != nil {
		log.Warn("service manager not told", slog.Any("err", err))
	}
	leave = func() {
		notify("STOPPING=1") // or it sees the end
		os.Remove(file)
	}
	if o.user != "" {
		if err := account.Become(o.user); err != nil {
			leave()
			return nil, err
		}
	}
	return leave, nil
}

// notify tells the service manager, if there is one, something of sd_notify(3).
func notify(state string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte(state)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
