package collector

import (
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// What the tests in package collector_test need to know of the inside.

var (
	ErrClosed     = errClosed
	ErrLateAccess = errLateAccess
)

const (
	ErrTryAgain = errTryAgain

	PanicPause         = panicPause
	ExtraTime          = extraTime
	DefaultGrace       = defaultGrace
	DefaultMaxPDU      = defaultMaxPDU
	DefaultMaxContexts = defaultMaxContexts
)

// LogAll has the Server log all lines of a reason, for a test that counts them. It comes
// before the first use of the Server.
func (s *Server) LogAll() {
	s.init()
	s.log = s.traceLog
}

// MostProfiles is how many profiles are kept for the client that has the most.
func (s *Server) MostProfiles() int {
	most := 0
	for c := range s.clients.all() {
		most = max(most, len(c.profiles))
	}
	return most
}

// NumClients is how many clients are connected.
func (s *Server) NumClients() int { return len(s.clientList()) }

// NumAccepted is how many clients have ever connected.
func (s *Server) NumAccepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.clients.seq)
}

// LocalAgent is an agent in this process.
func (s *Server) LocalAgent(d pdu.Domain) pmda.Handler { return s.agents.Load().get(d).local }

// Fence fences an agent, as a store into pmcd.agent.fenced does.
func (s *Server) Fence(d pdu.Domain) { s.agents.Load().get(d).fenced.Store(true) }

// EndPanicPause has an agent called again although it has just panicked.
func (s *Server) EndPanicPause(d pdu.Domain) { s.agents.Load().get(d).calls.pausedUntil.Store(0) }

// AgentPID is the process of an agent.
func (s *Server) AgentPID(d pdu.Domain) int {
	return s.agents.Load().get(d).remote.Load().cmd.Process.Pid
}

// SetLastDuration sets how long the last call of an agent took.
func (s *Server) SetLastDuration(d pdu.Domain, took time.Duration) {
	s.agents.Load().get(d).calls.lastDuration.Store(int64(took))
}

// SetTimeout changes the timeout, as a store into pmcd.control.timeout does.
func (s *Server) SetTimeout(d time.Duration) { s.setTimeout(d) }

// MemoryHeld is what all clients hold, beyond their allowances.
func (s *Server) MemoryHeld() int { return int(s.ledger.held.Load()) }

// MemoryPeak is the most that they have held.
func (s *Server) MemoryPeak() int { return int(s.ledger.peak.Load()) }

// NumHeld is how many bytes clients hold that are counted.
func (s *Server) NumHeld() int64 { return s.ledger.held.Load() }
