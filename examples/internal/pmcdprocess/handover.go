package pmcdprocess

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"strconv"

	"github.com/pcp-go/pcp/examples/internal/handover"
	"github.com/pcp-go/pcp/internal/daemonfile"
	"github.com/pcp-go/pcp/pmda/collector"
)

// handOver has another process take the place of this one, and reports whether it has.
func (p *Process) handOver(ctx context.Context, listeners []net.Listener, srv *collector.Server) bool {
	log := srv.Logger
	log.Info("pmcd caught SIGUSR2: starting another process in its place")
	var asRoot handover.RunAsRoot
	if p.wasRoot && os.Geteuid() != 0 {
		asRoot = srv.RunAsRoot
	}
	s, err := handover.Start(ctx, listeners, asRoot)
	if errors.Is(err, handover.ErrNoRoot) {
		log.Error("no process takes the place of this one: it has given up root's privileges, with which agents are to start, and has no pmdaroot; restart it, or start it as the user who it is to be",
			slog.String("user", p.User), slog.Any("err", err))
		return false
	}
	if err != nil {
		log.Error("no process takes the place of this one, which serves on", slog.Any("err", err))
		return false
	}
	p.successor = s
	if p.isService() {
		if err := daemonfile.Notify("MAINPID=" + strconv.Itoa(s.PID)); err != nil {
			log.Warn("service manager not told", slog.Any("err", err))
		}
	}
	log.Info("another process takes the place of this one", slog.Int("pid", s.PID))
	return true
}
