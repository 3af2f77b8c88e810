package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/pcp-go/pcp/pmda/collector"
)

// signals are the signals that the program handles.
type signals struct {
	end  context.Context // ends with SIGTERM or SIGINT
	hup  chan os.Signal
	stop func()
}

func catchSignals() *signals {
	end, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	return &signals{end, hup, func() {
		signal.Stop(hup)
		stop()
	}}
}

// serve serves until a signal ends the program; SIGHUP resets the collector. It logs the end as pmcd does.
func (s *signals) serve(srv *collector.Server, listeners []net.Listener, log *slog.Logger) error {
	reloading := make(chan struct{})
	go func() {
		defer close(reloading)
		for {
			select {
			case <-s.hup:
				srv.Reset()
			case <-s.end.Done():
				s.logEnd(log)
				return
			}
		}
	}()
	err := srv.Serve(s.end, listeners...)
	s.stop()
	<-reloading
	log.Info("pmcd Shutdown")
	return err
}

// logEnd logs the signal that ends the program, if one does. A Go program is not told who has sent it.
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
