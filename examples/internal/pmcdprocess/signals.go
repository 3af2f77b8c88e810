package pmcdprocess

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/examples/internal/handover"
	"github.com/pcp-go/pcp/pmda/collector"
)

// drainTime is how long clients may finish after another process has taken the place of this one.
const drainTime = 5 * time.Second

// signals are the signals that the program handles.
type signals struct {
	end  context.Context // ends with SIGTERM or SIGINT
	hup  chan os.Signal
	hand chan os.Signal // asks for another process in the place of this one
	stop func()
}

func catchSignals() *signals {
	end, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	hand := make(chan os.Signal, 1)
	handover.Notify(hand)
	return &signals{end, hup, hand, func() {
		signal.Stop(hup)
		signal.Stop(hand)
		stop()
	}}
}

// serve serves until a signal ends the program, or handOver has found another process for its
// place; SIGHUP resets the collector. It logs the end as pmcd does.
func (s *signals) serve(srv *collector.Server, listeners []net.Listener, handOver func() bool) error {
	log := srv.Logger
	serving, cancel := context.WithCancel(context.WithoutCancel(s.end))
	defer cancel()
	var handling sync.WaitGroup
	handling.Go(func() {
		for {
			select {
			case <-s.hup:
				srv.Reset()
			case <-s.end.Done():
				s.logEnd(log)
				cancel() // after the line of the log, which says why the next ones are there
				return
			}
		}
	})
	handling.Go(func() { s.awaitHandover(srv, handOver) })
	err := srv.Serve(serving, listeners...)
	s.stop()
	handling.Wait()
	log.Info("pmcd Shutdown")
	return err
}

// awaitHandover calls handOver on each signal for it, and shuts the collector down after it has
// succeeded.
func (s *signals) awaitHandover(srv *collector.Server, handOver func() bool) {
	for {
		select {
		case <-s.hand:
			if !handOver() {
				continue
			}
			ctx, cancel := context.WithTimeout(s.end, drainTime)
			defer cancel()
			_ = srv.Shutdown(ctx) // Serve returns the error
			return
		case <-s.end.Done():
			return
		}
	}
}

// logEnd logs the signal that ends the program. It cannot name the sender, which a Go program does
// not learn.
func (s *signals) logEnd(log *slog.Logger) {
	cause := context.Cause(s.end)
	if cause == context.Canceled { // by stop
		return
	}
	name := "SIGTERM"
	if strings.HasPrefix(cause.Error(), os.Interrupt.String()) {
		name = "SIGINT"
	}
	log.Info("pmcd caught " + name + " from unknown process")
}
