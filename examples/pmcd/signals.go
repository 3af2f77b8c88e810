package main

import (
	"context"
	"net"
	"os"
	"os/signal"
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

// serve serves until a signal ends the program; SIGHUP resets the collector.
func (s *signals) serve(srv *collector.Server, listeners []net.Listener) error {
	reloading := make(chan struct{})
	go func() {
		defer close(reloading)
		for {
			select {
			case <-s.hup:
				srv.Reset()
			case <-s.end.Done():
				return
			}
		}
	}()
	err := srv.Serve(s.end, listeners...)
	s.stop()
	<-reloading
	return err
}
