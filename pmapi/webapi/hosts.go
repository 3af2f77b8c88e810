package webapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/internal/hostspec"
	"github.com/pcp-go/pcp/internal/wording"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// defaultPort is the port of a collector.
const defaultPort = 44321

// An opener opens a context on a source.
type opener func(ctx context.Context) (*pmapi.Context, error)

func equalFold(a, b string) bool { return strings.EqualFold(a, b) }

// source returns the source that the request names and its login. It returns an error if the client
// may not use that source.
func (q *query) source() (opener, login, error) {
	_, spec, given := q.params.first("hostspec", "hostname")
	if !given {
		spec = "localhost"
	}
	if open := q.g.Sources[spec]; open != nil && !q.g.RequireLogin {
		return opener(open), login{}, nil
	}
	h, err := hostspec.Parse(spec)
	if err != nil {
		message := "cannot connect to PMCD: " + err.Error()
		if e, ok := errors.AsType[*hostspec.Error](err); ok {
			message = wording.Caret(e.Text, e.Offset, e.Msg) + "\n" // the text of the C library
		}
		return nil, login{}, badRequest(message)
	}
	if h.Protocol == hostspec.PCP && h.Host.Name == "" && len(h.Proxies) == 0 {
		return nil, login{}, badRequest("cannot connect to PMCD: " + pdu.ErrNotHost.Error())
	}
	if q.g.Local != nil && q.g.isLocal(h) && !q.g.RequireLogin {
		return q.g.Local, login{}, nil
	}
	if !q.g.mayConnect(h) {
		return nil, login{}, &failure{http.StatusForbidden, "host is not allowed: " + withoutAttrs(h) + ": the gateway's list of hosts (pmproxy --allow) has no pattern for it"}
	}
	l, err := q.loginAs(h)
	if err != nil {
		return nil, login{}, err
	}
	h.Attrs = passedOn(h.Attrs, l)
	target := h.String()
	g := q.g // q may end before its stream
	return q.countFailures(l, func(ctx context.Context) (*pmapi.Context, error) {
		d := g.dialer
		return d.Dial(ctx, target)
	}), l, nil
}

// passedOn returns the attributes that the collector needs, with the login.
func passedOn(attrs []hostspec.Attr, l login) []hostspec.Attr {
	attrs = slices.DeleteFunc(slices.Clone(attrs), func(a hostspec.Attr) bool {
		return a.Name != "container" && a.Name != "method" && a.Name != "secure"
	})
	if l.user != "" {
		attrs = append(attrs, hostspec.Attr{Name: "username", Value: l.user}, hostspec.Attr{Name: "password", Value: l.password})
	}
	return attrs
}

func withoutAttrs(h hostspec.Spec) string {
	h.Attrs = nil
	return h.String()
}

// isLocal reports whether h names this computer's collector on the default port, without a proxy or
// a socket path.
func (g *Gateway) isLocal(h hostspec.Spec) bool {
	switch {
	case len(h.Proxies) > 0 || h.Path != "":
		return false
	case h.Protocol == hostspec.Local:
		return true
	case h.Protocol != hostspec.PCP && h.Protocol != hostspec.PCPS:
		return false
	}
	for _, port := range h.Host.Ports {
		if !slices.Contains(g.defaultPorts(), port) {
			return false
		}
	}
	return isLoopback(h.Host.Name)
}

func isLoopback(name string) bool {
	addr, err := netip.ParseAddr(name)
	return equalFold(name, "localhost") || err == nil && addr.IsLoopback()
}

func (g *Gateway) defaultPorts() []int {
	if len(g.dialer.Ports) > 0 {
		return g.dialer.Ports
	}
	return []int{defaultPort}
}

// MayConnect reports whether clients may connect to the collector at a host and a port. Host is a
// name or an address. Use it as proxy.Proxy.Allow of a proxy on the same port, so that both allow
// the same hosts.
func (g *Gateway) MayConnect(host string, port int) bool {
	g.setUp.Do(g.prepare)
	return g.mayConnect(hostspec.Spec{Protocol: hostspec.PCP, Host: hostspec.HostPort{Name: host, Ports: []int{port}}})
}

// mayConnect reports whether clients may connect to h.
func (g *Gateway) mayConnect(h hostspec.Spec) bool {
	if g.Allow == nil {
		return h.Protocol != hostspec.Local && g.isLocal(h)
	}
	if h.Protocol == hostspec.Unix || h.Protocol == hostspec.Local || len(h.Proxies) > 0 {
		return slices.Contains(g.Allow, withoutAttrs(h))
	}
	ports := h.Host.Ports
	if len(ports) == 0 {
		ports = g.defaultPorts()
	}
	for _, port := range ports { // dialing tries each port
		if h.Host.Name == "" || !slices.ContainsFunc(g.Allow, func(allowed string) bool { return g.allows(allowed, h.Host.Name, port) }) {
			return false
		}
	}
	return true
}

// allows reports whether an entry of Allow matches a host and a port.
func (g *Gateway) allows(allowed, host string, port int) bool {
	name, ports := allowed, ""
	if i := strings.LastIndexByte(allowed, ':'); i >= 0 && !strings.HasSuffix(allowed, "]") && (strings.Count(allowed, ":") == 1 || strings.HasPrefix(allowed, "[")) {
		name, ports = allowed[:i], allowed[i+1:]
	}
	switch {
	case ports == "" && !slices.Contains(g.defaultPorts(), port):
		return false
	case ports != "" && ports != "*" && ports != strconv.Itoa(port):
		return false
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	return matchHost(strings.ToLower(name), strings.ToLower(strings.TrimSuffix(host, ".")))
}

// matchHost reports whether a pattern matches a host name, component by component. An address
// matches only itself and "*".
func matchHost(pattern, name string) bool {
	if _, err := netip.ParseAddr(name); err == nil || pattern == "*" {
		return pattern == "*" || pattern == name
	}
	want, have := strings.Split(pattern, "."), strings.Split(name, ".")
	return slices.EqualFunc(want, have, func(p, c string) bool {
		before, after, star := strings.Cut(p, "*")
		return p == c || star && c != "" && len(c) >= len(before)+len(after) && strings.HasPrefix(c, before) && strings.HasSuffix(c, after)
	})
}

// hostName returns the name of a context's host.
func (q *query) hostName() string { return cmp.Or(q.s.c.HostName(q.ctx), "localhost") }
