package collector

import (
	"sync"
	"sync/atomic"
)

// A resetting limits resets: one may run and one may wait.
type resetting struct {
	waiting atomic.Bool
	mu      sync.Mutex
}

// Reset does what pmcd does on SIGHUP. It counts the reset in pmcd.sighups, reads the label files
// and calls OnReset. If OnReset is nil, it logs the clients and calls RestartAgents. A store into
// pmcd.control.sighup also calls Reset. One Reset runs at a time; a call while another one waits
// does nothing.
func (s *Server) Reset() {
	s.init()
	if !s.resetting.waiting.Swap(true) {
		s.reset()
	}
}

// reset is Reset for a caller that has set waiting.
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

// resetByStore starts a reset. The client does not wait for it.
func (s *Server) resetByStore() {
	s.log.Info("pmcd reset via pmcd.control.sighup")
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hasEnded() && !s.resetting.waiting.Swap(true) {
		s.agentWG.Go(s.reset)
	}
}
