package pmdaproc

import (
	"context"
	"path/filepath"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// addControl adds the settings that select the listed processes.
func (p *proc) addControl() {
	pmda.Register(p.Agent, pmda.Metric[uint32]{Name: "proc.control.all.threads", ID: pmda.Item(10, 1),
		Text: "Whether threads are listed for clients that have not said otherwise",
		Help: "1 if the threads of processes are instances too, else 0. Only the root user can set it,\nwhere access is checked: each client has proc.control.perclient.threads.",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
			return truth(p.allThreads()), nil
		},
		Store: p.storeAllThreads,
	})
	pmda.Register(p.Agent, pmda.Metric[uint32]{Name: "proc.control.perclient.threads", ID: pmda.Item(10, 2),
		Text: "Whether threads are listed for the client that asks",
		Help: "1 if the threads of processes are instances too, else 0. A client sets it for itself.",
		Value: func(_ context.Context, r *pmda.Request, _ pdu.Instance) (uint32, error) {
			if s := p.settings(r); s.threads != nil {
				return truth(*s.threads), nil
			}
			return truth(p.allThreads()), nil
		},
		Store: p.storeThreads,
	})
	pmda.Register(p.Agent, pmda.Metric[string]{Name: "proc.control.perclient.cgroups", ID: pmda.Item(10, 3),
		Text: "Directory of the only control group whose processes are listed for the client",
		Help: "Empty if the client gets the processes of all. A client sets it for itself: the path\nof a directory such as /sys/fs/cgroup/system.slice.",
		Value: func(_ context.Context, r *pmda.Request, _ pdu.Instance) (string, error) {
			if s := p.settings(r); s.cgroup != "" {
				return s.cgroup, nil
			}
			return p.Cgroup, nil
		},
		Store: p.storeCgroup,
	})
}

func truth(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// settings returns the settings of the client of a request.
func (p *proc) settings(r *pmda.Request) settings {
	if r.Client == nil {
		return settings{}
	}
	return p.clients.of(r.Client)
}

// storeAllThreads sets the default for clients without a setting. Only the root user and the
// agent's own may do so because it affects all clients.
func (p *proc) storeAllThreads(_ context.Context, r *pmda.Request, _ pdu.Instance, v uint32) error {
	c := r.Client
	if !p.NoAccessChecks && (c == nil || c.UID < 0 || c.GID < 0 || c.UID != 0 && !p.identity.isOwn(c.UID)) {
		return pdu.ErrPermission
	}
	if v > 1 {
		return pdu.ErrBadStore
	}
	on := v == 1
	p.clients.threads.Store(&on)
	return nil
}

// identified returns an error for a client without a known user, group or container, which cannot
// have its own settings.
func identified(c *pmda.Client) error {
	if c == nil || c.UID < 0 && c.GID < 0 && c.Container == "" {
		return pdu.ErrNoContext
	}
	return nil
}

func (p *proc) storeThreads(_ context.Context, r *pmda.Request, _ pdu.Instance, v uint32) error {
	if err := identified(r.Client); err != nil {
		return err
	}
	if v > 1 {
		return pdu.ErrBadStore
	}
	on := v == 1
	p.clients.change(r.Client, func(s *settings) { s.threads = &on })
	return nil
}

func (p *proc) storeCgroup(_ context.Context, r *pmda.Request, _ pdu.Instance, dir string) error {
	if err := identified(r.Client); err != nil {
		return err
	}
	if !filepath.IsAbs(dir) {
		return pdu.ErrBadStore
	}
	p.clients.change(r.Client, func(s *settings) { s.cgroup = dir })
	return nil
}
