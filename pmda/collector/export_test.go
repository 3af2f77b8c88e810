package collector

import (
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// Access to unexported state, for the tests in package collector_test.

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

// LogAll makes the Server log all lines of a reason, for a test that counts them. It must be
// called before the first use of the Server.
func (s *Server) LogAll() {
	s.init()
	s.log = s.traceLog
}

// MostProfiles returns the number of profiles of the client that has the most.
func (s *Server) MostProfiles() int {
	most := 0
	for c := range s.clients.all() {
		most = max(most, len(c.profiles))
	}
	return most
}

// NumClients returns the number of connected clients.
func (s *Server) NumClients() int { return len(s.clientList()) }

// NumAccepted returns the number of clients that have ever connected.
func (s *Server) NumAccepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.clients.seq)
}

// LocalAgent returns the agent of a domain, which must be in this process.
func (s *Server) LocalAgent(d pdu.Domain) pmda.Handler { return s.agents.Load().get(d).local }

// Fence fences an agent, as a store into pmcd.agent.fenced does.
func (s *Server) Fence(d pdu.Domain) { s.agents.Load().get(d).fenced.Store(true) }

// EndPanicPause ends the fence of an agent that has panicked.
func (s *Server) EndPanicPause(d pdu.Domain) { s.agents.Load().get(d).calls.pausedUntil.Store(0) }

// AgentPID returns the process ID of an agent.
func (s *Server) AgentPID(d pdu.Domain) int {
	return s.agents.Load().get(d).remote.Load().cmd.Process.Pid
}

// SetLastDuration sets how long the last call of an agent took.
func (s *Server) SetLastDuration(d pdu.Domain, took time.Duration) {
	s.agents.Load().get(d).calls.lastDuration.Store(int64(took))
}

// SetTimeout changes the timeout, as a store into pmcd.control.timeout does.
func (s *Server) SetTimeout(d time.Duration) { s.setTimeout(d) }

// MemoryHeld returns how many bytes all clients hold beyond their allowances.
func (s *Server) MemoryHeld() int { return int(s.ledger.held.Load()) }

// MemoryPeak returns the maximum of MemoryHeld since the latest garbage collection of the trimmer.
func (s *Server) MemoryPeak() int { return int(s.ledger.peak.Load()) }

// NumHeld returns the bytes that the ledger counts.
func (s *Server) NumHeld() int64 { return s.ledger.held.Load() }

// WithAgentCalls sets the number of concurrent calls of one agent.
func (s *Server) WithAgentCalls(n int) *Server {
	s.agentCalls = n
	return s
}

// WithClientMemory sets the limit of the memory for one client.
func (s *Server) WithClientMemory(n int) *Server {
	s.maxClientMemory = n
	return s
}

// WithHandshakeTimeout sets the limit for the start of TLS.
func (s *Server) WithHandshakeTimeout(d time.Duration) *Server {
	s.handshakeTimeout = d
	return s
}

// FilesOf returns the labels of the files of l.
func FilesOf(l ContextLabels) (set pdu.LabelSet, skipped []error, err error) { return l.merged() }
