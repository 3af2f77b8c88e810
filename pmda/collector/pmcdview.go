package collector

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/pcp-go/pcp/internal/helptext"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/eventtrace"
	"github.com/pcp-go/pcp/pmda/collector/internal/pmcdagent"
)

// newPMCDAgent returns the Server's own agent, with the metrics pmcd.*.
func newPMCDAgent(s *Server) *pmda.Agent {
	a := pmcdagent.New(pmcdagent.Config{
		Collector: pmcdView{s}, Logger: s.log, Counters: &s.counters, Trace: &s.trace,
		TmpDir: s.TmpDir, RunDir: s.RunDir,
	})
	if s.HelpDir == "" {
		return a
	}
	if _, err := helptext.Read(os.DirFS(s.HelpDir), "help"); err == nil {
		_ = a.UseHelp(os.DirFS(s.HelpDir), "help") // Read has checked the files
	} else if !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("help texts of pmcd not used", slog.Any("err", err))
	}
	return a
}

// A pmcdView is the pmcdagent.Collector of a Server.
type pmcdView struct{ s *Server }

// HostnameFor returns the host name of a client's container, from pmdaroot. Like C pmcd, it returns
// the name of the host if the client has no container or pmdaroot does not know it.
func (v pmcdView) HostnameFor(ctx context.Context, c *pmda.Client) string {
	if r := v.s.containers.Load(); r != nil && c != nil && c.Container != "" {
		if name, err := r.Hostname(ctx, c.Container); err == nil && name != "" {
			return name
		}
	}
	return v.Hostname()
}

func (v pmcdView) Hostname() string {
	if v.s.Hostname != "" {
		return v.s.Hostname
	}
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}

func (v pmcdView) Labels() (string, error) {
	set, _, err := v.s.Labels.merged()
	if err != nil || len(set.Labels) == 0 {
		return "", err
	}
	return string(set.JSON), nil
}

func (v pmcdView) Agents() []pmcdagent.Agent {
	var list []pmcdagent.Agent
	for _, a := range v.s.agents.Load().byDomain {
		if a != nil {
			list = append(list, a.view())
		}
	}
	return list
}

func (v pmcdView) Agent(d pdu.Domain) (pmcdagent.Agent, bool) {
	a := v.s.agents.Load().get(d)
	if a == nil {
		return pmcdagent.Agent{}, false
	}
	return a.view(), true
}

func (a *agent) view() pmcdagent.Agent {
	return pmcdagent.Agent{
		Domain: a.domain(), Name: a.name(), Kind: a.kind, Status: a.state(), Fenced: a.fenced.Load(),
		Containers: a.knowsContainers(), Latencies: &a.latencies,
	}
}

// knowsContainers reports whether the agent runs and uses the containers of its clients.
func (a *agent) knowsContainers() bool {
	if a.local != nil {
		return a.local.Info().ClientAttributes
	}
	p := a.remote.Load()
	return p != nil && p.Features()&pdu.FeatureContainer != 0
}

func (v pmcdView) LocalOnly() bool { return !v.s.remotely.Load() }

func (v pmcdView) Secure() bool { return v.s.secure.Load().config != nil }

func (v pmcdView) CertRequired() bool { return v.s.secure.Load().require }

func (v pmcdView) Authentication() bool { return v.s.Users != nil }

func (v pmcdView) CredsRequired() bool { return v.s.needsCreds() }

func (v pmcdView) NumAgents() int { return v.s.NumAgents() }

func (v pmcdView) SetFence(d pdu.Domain, fenced bool) {
	if a := v.s.agents.Load().get(d); a != nil {
		a.fenced.Store(fenced)
	}
}

func (v pmcdView) Clients() []pmcdagent.Client {
	clients := v.s.clientList()
	list := make([]pmcdagent.Client, len(clients))
	for i, c := range clients {
		list[i] = pmcdagent.Client{Client: c.info.Load(), Since: c.since}
	}
	return list
}

func (v pmcdView) ReplyWaits() *pmcdagent.Latencies { return &v.s.waits }
func (v pmcdView) SlowClients() uint64              { return v.s.slow.Load() }

func (v pmcdView) HasClient(c *pmda.Client) bool { return v.s.clientOf(c) != nil }

func (v pmcdView) SetContainer(of *pmda.Client, name string) {
	c := v.s.clientOf(of)
	if c == nil {
		return
	}
	c.changeInfo(func(info *pmda.Client) { info.Container = name })
}

func (v pmcdView) Timeout() time.Duration     { return time.Duration(v.s.timeout.Load()) }
func (v pmcdView) SetTimeout(t time.Duration) { v.s.setTimeout(t) }

// debugPDU is the bit of the debug option pdu in pmcd.control.debug.
const debugPDU = 1

func (v pmcdView) SetDebug(bits int32) { v.s.trace.Set(eventtrace.Debug, bits&debugPDU != 0) }

func (v pmcdView) SeqNum() uint32 { return v.s.seqnum.Load() }
func (v pmcdView) IncSeqNum()     { v.s.seqnum.Add(1) }
func (v pmcdView) Resets() uint32 { return v.s.sighups.Load() }
func (v pmcdView) Reset()         { v.s.resetByStore() }
func (v pmcdView) LogClients()    { v.s.logClients() }
