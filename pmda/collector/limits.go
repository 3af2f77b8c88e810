package collector

import (
	"cmp"
	"time"

	"github.com/pcp-go/pcp/pmda/internal/remote"
)

// Limits of a Server whose fields are zero.
const (
	defaultTimeout      = remote.DefaultTimeout
	defaultAgentHello   = remote.DefaultHelloTimeout
	defaultHandshake    = 10 * time.Second
	defaultWriteTimeout = 30 * time.Second
	defaultGrace        = 5 * time.Second
	defaultMaxPDU       = 64 << 10
	defaultMaxMetrics   = 32768
	defaultMaxContexts  = 64
	defaultMaxClients   = 65536
	defaultMaxReply     = remote.DefaultMaxReply
	defaultMemory       = 384 << 20
	defaultClientMemory = 64 << 20
	defaultAgentCalls   = 4
)

// Limits of memory that are not fields of a Server.
const (
	clientAllowance  = 64 << 10 // bytes of a client that are not counted
	profileAllowance = 16 << 10 // bytes of its profiles that are not counted
	profileShare     = 8        // profiles, which have no time limit, get 1/8 of all memory
	clientProfiles   = 2 << 20  // bytes of the profiles of one client
)

// limits are the fields of a Server that limit something, with their defaults.
type limits struct {
	timeout    time.Duration // of a client's PDU; that of agents may change, see Server.timeout
	agentHello time.Duration
	hello      time.Duration
	handshake  time.Duration
	write      time.Duration
	grace      time.Duration

	pdu        int
	metrics    int
	contexts   int
	clients    int
	reply      int
	memory     int // of all clients
	clientMem  int // of one client
	agentCalls int
}

func (s *Server) makeLimits() limits {
	return limits{
		timeout:    cmp.Or(s.Timeout, defaultTimeout),
		agentHello: cmp.Or(s.AgentHelloTimeout, defaultAgentHello),
		hello:      60 * time.Second,
		handshake:  cmp.Or(s.handshakeTimeout, defaultHandshake),
		write:      cmp.Or(s.WriteTimeout, defaultWriteTimeout),
		grace:      cmp.Or(s.Grace, defaultGrace),
		pdu:        cmp.Or(s.MaxPDU, defaultMaxPDU),
		metrics:    cmp.Or(s.MaxMetrics, defaultMaxMetrics),
		contexts:   cmp.Or(s.MaxContexts, defaultMaxContexts),
		clients:    cmp.Or(s.MaxClients, defaultMaxClients),
		reply:      cmp.Or(s.MaxReply, defaultMaxReply),
		memory:     cmp.Or(s.MaxMemory, defaultMemory),
		clientMem:  cmp.Or(s.maxClientMemory, defaultClientMemory),
		agentCalls: cmp.Or(s.agentCalls, defaultAgentCalls),
	}
}
