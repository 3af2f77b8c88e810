package pmdalinux

import (
	"context"
	"fmt"
	"sync"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// maxContainers is the maximum number of containers whose last readings are kept. Each takes some
// hundred kilobytes.
const maxContainers = 64

// containers handles requests of clients that select a container.
type containers struct {
	pmda.Handler // of the machine
	l            *linux
	find         func(ctx context.Context, name string) (pid int, err error)

	mu    sync.Mutex
	uses  uint64
	known map[containerView]*container
}

// A container is an agent with the metrics that differ inside a container: those of its network,
// its file systems and its host name.
type container struct {
	*linux
	used uint64
}

// A containerView tells where the files of a container are. The zero containerView belongs to no
// container.
type containerView struct {
	host  *linux
	pid   int
	start uint64 // when the process was started, on the machine itself
}

// addContainers makes clients that select a container get its metrics.
func (l *linux) addContainers(find func(context.Context, string) (int, error)) {
	l.Use(func(next pmda.Handler) pmda.Handler {
		return &containers{Handler: next, l: l, find: find, known: map[containerView]*container{}}
	})
}

// newContainer makes the agent of a container. It keeps no file open, because an open file would
// keep the network or the file system of an ended container alive.
func newContainer(v containerView) *container {
	l := newLinux(Options{Root: v.host.root, Trusts: v.host.trusts})
	l.Domain, l.Logger, l.statfs, l.view = v.host.Domain, v.host.Log(), v.host.statfs, &v
	l.openFiles.Store(maxOpenFiles)
	l.addFilesystems()
	l.addNetwork()
	l.addUnames()
	return &container{linux: l}
}

// Unwrap returns the machine's handler, for pmda.As.
func (h *containers) Unwrap() pmda.Handler { return h.Handler }

// process returns a process of the container that the client has selected. wanted is false without
// such a container.
func (h *containers) process(ctx context.Context, r *pmda.Request) (pid int, wanted bool, err error) {
	if r.Client == nil || r.Client.Container == "" {
		return 0, false, nil
	}
	if h.find == nil {
		return 0, true, pdu.ErrNoContainer
	}
	pid, err = h.find(ctx, r.Client.Container)
	return pid, true, err
}

// open returns the agent of a container. If its namespaces cannot be entered, the error is that of
// PCP's agent.
func (h *containers) open(pid int) (*container, error) {
	v, err := h.l.viewOf(pid)
	if err != nil {
		return nil, err
	}
	return h.of(v), nil
}

func (h *containers) of(v containerView) *container {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.uses++
	c := h.known[v]
	if c == nil {
		if len(h.known) >= maxContainers {
			h.forgetOldest()
		}
		c = newContainer(v)
		h.known[v] = c
	}
	c.used = h.uses
	return c
}

// forgetOldest removes the container that was least recently used.
func (h *containers) forgetOldest() {
	var oldest *container
	for _, c := range h.known {
		if oldest == nil || c.used < oldest.used {
			oldest = c
		}
	}
	delete(h.known, *oldest.view)
}

// sample returns an agent without a container. Its tables tell which metrics a container has.
func (h *containers) sample() *container { return h.of(containerView{host: h.l}) }

// has reports whether a metric has its own value in a container.
func (c *container) has(id pdu.PMID) bool {
	_, err := c.Desc(context.Background(), &pmda.Request{}, id)
	return err == nil
}

// hasInDom reports whether an instance domain has its own instances in a container.
func (c *container) hasInDom(d pdu.InDom) bool { return c.domains[pmda.InDomSerial(d.Serial())] != nil }

// Fetch fetches the metrics of the client's container, or of the machine.
func (h *containers) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	pid, wanted, err := h.process(ctx, r)
	if err != nil {
		return err
	}
	if !wanted {
		return h.Handler.Fetch(ctx, r, ids, w)
	}
	var c *container
	for sample := h.sample(); len(ids) > 0; {
		own, n := sample.has(ids[0]), 1
		for n < len(ids) && sample.has(ids[n]) == own {
			n++
		}
		from := h.Handler
		if own {
			if c == nil {
				if c, err = h.open(pid); err != nil {
					return err
				}
			}
			from = c.Agent
		}
		if err := from.Fetch(ctx, r, ids[:n], w); err != nil {
			return err
		}
		ids = ids[n:]
	}
	if c != nil {
		return c.view.check()
	}
	return nil
}

// withHandler calls f with the handler that has the instances of a domain for a client.
func (h *containers) withHandler(ctx context.Context, r *pmda.Request, d pdu.InDom, f func(pmda.Handler) error) error {
	pid, wanted, err := h.process(ctx, r)
	if err != nil {
		return err
	}
	if !wanted || !h.sample().hasInDom(d) {
		return f(h.Handler)
	}
	c, err := h.open(pid)
	if err != nil {
		return err
	}
	if err := f(c.Agent); err != nil {
		return err
	}
	return c.view.check()
}

// Instances returns the instances of the client's container, or of the machine.
func (h *containers) Instances(ctx context.Context, r *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) (list []pdu.Instance, err error) {
	err = h.withHandler(ctx, r, d, func(from pmda.Handler) error {
		list, err = from.Instances(ctx, r, d, inst, name)
		return err
	})
	return list, err
}

// Labels returns labels. Those of instances are for the client's container.
func (h *containers) Labels(ctx context.Context, r *pmda.Request, of pdu.LabelTarget) (sets []pdu.LabelSet, err error) {
	if of.Class != pdu.LabelInstances {
		return h.Handler.Labels(ctx, r, of)
	}
	err = h.withHandler(ctx, r, of.InDom(), func(from pmda.Handler) error {
		sets, err = from.Labels(ctx, r, of)
		return err
	})
	return sets, err
}

// path returns the file of the container that corresponds to a file of the machine.
func (v *containerView) path(name string) string {
	of := func(rest string) string { return fmt.Sprintf("proc/%d/%s", v.pid, rest) }
	switch {
	case name == "proc/self/mounts":
		return of("mounts")
	case len(name) > len("proc/net/") && name[:len("proc/net/")] == "proc/net/":
		return of(name[len("proc/"):])
	case len(name) > len("sys/") && name[:len("sys/")] == "sys/":
		return of("root/" + name) // for openSys
	}
	return name
}

// mountPath returns the path of a directory listed in /proc/self/mounts.
func (l *linux) mountPath(dir string) string {
	if l.view != nil {
		return l.path(fmt.Sprintf("proc/%d/root", l.view.pid) + dir)
	}
	return l.path(dir)
}

// sharedIDs returns the function that numbers a container's instances. They get the IDs of the
// machine's instances with the same names, and new IDs for other names. Instances therefore keep
// their IDs after the container was removed from the cache. It returns nil for the machine itself.
func (l *linux) sharedIDs(d *pmda.InDom) func(names []string) ([]pdu.InstID, error) {
	if l.view == nil {
		return nil
	}
	shared := l.view.host.domains[d.Serial]
	return func(names []string) ([]pdu.InstID, error) { return shared.NameIDs(names...) }
}
