package collector

import (
	"cmp"
	"time"

	"github.com/pcp-go/pcp/pmda/remote"
)

// Limits of a Server whose fields are zero.
const (
	defaultTimeout      = remote.DefaultTimeout
	defaultAgentHello   = remote.DefaultHelloTimeout
	defaultHelloTimeout = 60 * time.Second
	defaultWriteTimeout = 30 * time.Second
	defaultGrace        = 5 * time.Second
	defaultMaxPDU       = 64 << 10
	defaultMaxMetrics   = 32768
	defaultMaxContexts  = 64
	defaultMaxClients   = 65536
	defaultMaxReply     = 64 << 20
	defaultMaxInFlight  = 512 << 20
	defaultAgentCalls   = 4
)

// limits are the fields of a Server that limit something, with their defaults.
type limits struct {
	timeout    time.Duration // of a client's PDU; that of agents may change, see Server.timeout
	agentHello time.Duration
	hello      time.Duration
	write      time.Duration
	grace      time.Duration

	pdu        int
	metrics    int
	contexts   int
	clients    int
	reply      int
	inFlight   int
	agentCalls int
}

func (s *Server) makeLimits() limits {
	return limits{
		timeout:    cmp.Or(s.Timeout, defaultTimeout),
		agentHello: cmp.Or(s.AgentHelloTimeout, defaultAgentHello),
		hello:      cmp.Or(s.HelloTimeout, defaultHelloTimeout),
		write:      cmp.Or(s.WriteTimeout, defaultWriteTimeout),
		grace:      cmp.Or(s.Grace, defaultGrace),
		pdu:        cmp.Or(s.MaxPDU, defaultMaxPDU),
		metrics:    cmp.Or(s.MaxMetrics, defaultMaxMetrics),
		contexts:   cmp.Or(s.MaxContexts, defaultMaxContexts),
		clients:    cmp.Or(s.MaxClients, defaultMaxClients),
		reply:      cmp.Or(s.MaxReply, defaultMaxReply),
		inFlight:   cmp.Or(s.MaxInFlight, defaultMaxInFlight),
		agentCalls: cmp.Or(s.AgentCalls, defaultAgentCalls),
	}
}
