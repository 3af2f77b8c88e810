package pmcdagent

import (
	"context"
	"log/slog"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/eventtrace"
)

// Domain is the domain of the agent.
const Domain pdu.Domain = 2

// A Collector is the collector that hosts the agent. It is safe for concurrent use.
type Collector interface {
	// Hostname returns the value of pmcd.hostname for clients without a container. HostnameFor
	// returns the value for any client.
	Hostname() string
	HostnameFor(ctx context.Context, c *pmda.Client) string
	// Labels returns the value of pmcd.labels.
	Labels() (string, error)

	// LocalOnly reports whether clients of other hosts cannot connect.
	LocalOnly() bool

	// Secure reports whether connections can be encrypted, CertRequired whether clients need a
	// certificate.
	Secure() bool
	CertRequired() bool

	// Authentication reports whether clients can log in, CredsRequired whether they have to.
	Authentication() bool
	CredsRequired() bool

	// Agents returns all configured agents by domain, including those that are not connected.
	Agents() []Agent
	// Agent returns the agent of domain d, and whether the domain has an agent.
	Agent(d pdu.Domain) (Agent, bool)
	// NumAgents returns the number of connected agents.
	NumAgents() int
	// SetFence raises or lowers the fence of an agent. It does nothing if the domain has no
	// agent.
	SetFence(d pdu.Domain, fenced bool)

	// Clients returns the connected clients, ordered by when they connected.
	Clients() []Client
	// ReplyWaits returns how long replies had to wait for clients that had not yet read earlier
	// data. SlowClients returns the number of clients that were disconnected because they did not
	// read a reply.
	ReplyWaits() *Latencies
	SlowClients() uint64

	// HasClient reports whether a client is connected.
	HasClient(c *pmda.Client) bool
	// SetContainer sets the container of a client and notifies the agents. It does nothing if the
	// client has disconnected.
	SetContainer(c *pmda.Client, name string)

	// Timeout returns how long an agent may take for a reply. 0 or less means no limit.
	Timeout() time.Duration
	SetTimeout(time.Duration)
	// SetDebug sets the debug options in bits, and clears the others.
	SetDebug(bits int32)

	// SeqNum returns the value of pmcd.seqnum. IncSeqNum adds 1 to it.
	SeqNum() uint32
	IncSeqNum()

	// Resets returns the number of resets of the collector. Reset starts a reset and does not
	// wait for it.
	Resets() uint32
	Reset()

	// LogClients writes a table of the clients to the log.
	LogClients()
}

// An Agent describes an agent that the collector hosts.
type Agent struct {
	Domain pdu.Domain
	Name   string // in the configuration
	Kind   string // as in pmcdconf.Agent
	Status int32  // the value of pmcd.agent.status
	Fenced bool

	Containers bool // it runs, and uses the containers of its clients

	Latencies *Latencies // of its calls
}

// A Client describes a client of the collector.
type Client struct {
	*pmda.Client
	Since time.Time // when it connected
}

// Config configures an agent.
type Config struct {
	Collector Collector
	Logger    *slog.Logger
	Counters  *pdu.Counters     // the PDUs of clients and agents
	Trace     *eventtrace.Trace // the event trace

	// TmpDir and RunDir are PCP_TMP_DIR and PCP_RUN_DIR, with the files of running loggers,
	// inference engines and pmproxy. Empty means no files.
	TmpDir, RunDir string
}
