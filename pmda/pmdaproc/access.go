package pmdaproc

import (
	"context"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A view is the part of the machine that the client of a request may see.
type view struct {
	access    bool   // may see single processes
	uid, gid  int    // whose rights the kernel checks, if switches
	switches  bool   // uid and gid differ from the agent's
	threads   bool   // list threads too
	cgroup    string // the directory of the only control group, or empty
	container string // name of the only control group, that of the requested container
	instances bool   // the request is for instances or their labels

	members    []entry       // the processes of the only control group, by ascending ID
	membersErr error         // why members is not known
	trees      []*cgroupTree // the hierarchies of control groups that the request has read
}

// ofGroup reports whether the client sees only the processes of one control group.
func (v *view) ofGroup() bool { return v.container != "" || v.cgroup != "" }

type viewKey struct{}

// viewOf returns the view of a request, which handler adds to its context.
func viewOf(ctx context.Context) *view {
	if v, ok := ctx.Value(viewKey{}).(*view); ok {
		return v
	}
	return new(view)
}

// newView determines what a client may see. The error fails the whole request.
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

// A handler serves requests for values and instances with the rights of their clients.
type handler struct {
	pmda.Handler
	p *proc
}

// Unwrap returns the handler without rights, for pmda.As.
func (h handler) Unwrap() pmda.Handler { return h.Handler }

// runAs calls f with the rights of a client and a context with its view.
func (h handler) runAs(ctx context.Context, r *pmda.Request, instances bool, f func(ctx context.Context) error) error {
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
	if !h.p.identity.runAs(v.uid, v.gid, func() { err = f(ctx) }) {
		v.access, v.switches = false, false
		return f(ctx)
	}
	return err
}

// Fetch fetches with the rights of the client.
func (h handler) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	return h.runAs(ctx, r, false, func(ctx context.Context) error { return h.Handler.Fetch(ctx, r, ids, w) })
}

// Instances returns instances with the rights of the client. A bare PID selects a process.
func (h handler) Instances(ctx context.Context, r *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) (list []pdu.Instance, err error) {
	if name != "" && h.p.isTable(d) {
		name = fullNumber(name)
	}
	err = h.runAs(ctx, r, true, func(ctx context.Context) error {
		list, err = h.Handler.Instances(ctx, r, d, inst, name)
		return err
	})
	return list, err
}

// Labels returns the labels of the tables. Labels of instances reveal which instances exist, so
// they need the same access as the instances.
func (h handler) Labels(ctx context.Context, r *pmda.Request, of pdu.LabelTarget) (sets []pdu.LabelSet, err error) {
	if of.Class != pdu.LabelInstances {
		return h.Handler.Labels(ctx, r, of)
	}
	err = h.runAs(ctx, r, true, func(ctx context.Context) error {
		sets, err = h.Handler.Labels(ctx, r, of)
		return err
	})
	return sets, err
}

// isTable reports whether the instances of a domain are processes.
func (p *proc) isTable(d pdu.InDom) bool { return d == p.processes.indom.ID() || d == p.hot.indom.ID() }

// fullNumber converts a number to the start of an instance name, such as 1 to 000001. It returns
// other names unchanged.
func fullNumber(name string) string {
	if strings.Trim(name, "0123456789") != "" {
		return name
	}
	name = strings.TrimLeft(name, "0")
	return strings.Repeat("0", max(0, pidDigits-len(name))) + name
}
