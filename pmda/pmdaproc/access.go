package pmdaproc

import (
	"context"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A view is what the client of a request gets to see.
type view struct {
	access    bool   // to single processes
	uid, gid  int    // whose rights the kernel checks, if switches
	switches  bool   // they are others than those of the agent
	threads   bool   // list threads too
	cgroup    string // the directory of the only control group, or empty
	container string // the name of the only control group, of the container that it asks for
	instances bool   // the request is for instances or their labels

	members    []entry       // the processes of the only control group, by ascending ID
	membersErr error         // why they are not known
	trees      []*cgroupTree // the hierarchies of control groups that the request has read
}

// ofGroup reports whether the client sees the processes of one control group alone.
func (v *view) ofGroup() bool { return v.container != "" || v.cgroup != "" }

type viewKey struct{}

// viewOf is the view of a request, by the context that handler gives it.
func viewOf(ctx context.Context) *view {
	if v, ok := ctx.Value(viewKey{}).(*view); ok {
		return v
	}
	return new(view)
}

// newView finds out what a client may see. The error is that of the whole request.
func (p *proc) newView(ctx context.Context, c *pmda.Client) (*view, error) {
	v := &view{access: p.NoAccessChecks}
	v.threads, v.cgroup = p.allThreads(), p.Cgroup
	if c == nil {
		return v, nil
	}
	if !v.access && c.UID >= 0 && c.GID >= 0 {
		v.uid, v.gid = c.UID, c.GID
		v.access, v.switches = p.identity.allows(c.UID, c.GID)
	}
	if !p.NoAccessChecks {
		p.allowed().allow(v, c.User, p.identity)
	}
	s := p.clients.of(c)
	if s.threads != nil {
		v.threads = *s.threads
	}
	if s.cgroup != "" {
		v.cgroup = s.cgroup
	}
	if c.Container == "" {
		return v, nil
	}
	if p.ContainerCgroup == nil {
		return nil, pdu.ErrNoContainer
	}
	name, err := p.ContainerCgroup(ctx, c.Container)
	if err != nil || name == "" {
		return nil, pdu.ErrNoContainer
	}
	v.container = name
	return v, nil
}

// A handler has requests for values and instances served with the rights of their
// clients.
type handler struct {
	pmda.Handler
	p *proc
}

// Unwrap is for pmda.As.
func (h handler) Unwrap() pmda.Handler { return h.Handler }

// as calls f with the rights of a client, and a context that tells of its view.
func (h handler) as(ctx context.Context, r *pmda.Request, instances bool, f func(ctx context.Context) error) error {
	v, err := h.p.newView(ctx, r.Client)
	if err != nil {
		return err
	}
	defer h.p.trees.release(v)
	v.instances = instances
	if v.ofGroup() {
		v.members, v.membersErr = h.p.groupMembers(ctx, v)
	}
	ctx = context.WithValue(ctx, viewKey{}, v)
	if !v.switches {
		return f(ctx)
	}
	if !h.p.identity.as(v.uid, v.gid, func() { err = f(ctx) }) {
		v.access, v.switches = false, false
		return f(ctx)
	}
	return err
}

// Fetch is Fetch of the tables with the rights of the client.
func (h handler) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	return h.as(ctx, r, false, func(ctx context.Context) error { return h.Handler.Fetch(ctx, r, ids, w) })
}

// Instances is Instances of the tables with the rights of the client. A number is the
// name of a process.
func (h handler) Instances(ctx context.Context, r *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) (list []pdu.Instance, err error) {
	if name != "" && h.p.isTable(d) {
		name = fullNumber(name)
	}
	err = h.as(ctx, r, true, func(ctx context.Context) error {
		list, err = h.Handler.Instances(ctx, r, d, inst, name)
		return err
	})
	return list, err
}

// Labels returns labels as the tables do. Labels of instances reveal which instances exist, so they
// need the same access as the instances.
func (h handler) Labels(ctx context.Context, r *pmda.Request, of pdu.LabelTarget) (sets []pdu.LabelSet, err error) {
	if of.Class != pdu.LabelInstances {
		return h.Handler.Labels(ctx, r, of)
	}
	err = h.as(ctx, r, true, func(ctx context.Context) error {
		sets, err = h.Handler.Labels(ctx, r, of)
		return err
	})
	return sets, err
}

// isTable reports whether an instance domain is one of processes.
func (p *proc) isTable(d pdu.InDom) bool { return d == p.processes.indom.ID() || d == p.hot.indom.ID() }

// fullNumber makes a number the beginning of an instance name, such as 000001 of 1. Other
// names stay as they are.
func fullNumber(name string) string {
	if strings.Trim(name, "0123456789") != "" {
		return name
	}
	name = strings.TrimLeft(name, "0")
	return strings.Repeat("0", max(0, pidDigits-len(name))) + name
}
