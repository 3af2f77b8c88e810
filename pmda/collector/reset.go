package collector

import (
	"sync"
	"sync/atomic"
)

// A resetting keeps resets from piling up: one may run and one may wait.
type resetting struct {
	waiting atomic.Bool
	mu      sync.Mutex
}

// Reset does what pmcd does on SIGHUP: it counts the reset
// (pmcd.sighups), looks at the label files, and calls OnReset or, without one, lists
// the clients in the log and calls RestartAgents. A program calls it when it gets that
// signal; a client does by storing pmcd.control.sighup. Resets run one at a time;
// one that is called while another waits is merged with that.
func (s *Server) Reset() {
	s.init()
	if !s.resetting.waiting.Swap(true) {
		s.reset()
	}
}

// reset is Reset for whoever has set waiting.
func (s *Server) reset() {
	s.resetting.mu.Lock()
	defer s.resetting.mu.Unlock()
	s.resetting.waiting.Store(false)
	s.sighups.Add(1)
	s.noteLabelChanges()
	if s.OnReset != nil {
		s.OnReset()
	} else {
		s.logClients()
		s.RestartAgents()
	}
}

// resetByStore resets without letting the client wait.
func (s *Server) resetByStore() {
	s.log.Info("pmcd reset via pmcd.control.sighup")
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hasEnded() && !s.resetting.waiting.Swap(true) {
		s.agentWG.Go(s.reset)
	}
}
