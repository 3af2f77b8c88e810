package pmapi

import (
	"context"
	"os"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// HostName is the name of the host whose metrics these are, as its collector tells
// (pmcd.hostname). If it does not tell, it is this computer's name where the
// collector is on it, or else the name that the context was opened with. The
// counterpart of pmGetContextHostName(3).
func (c *Context) HostName(ctx context.Context) string {
	if name, err := c.pmcdHostname(ctx); err == nil && name != "" {
		return name
	}
	if c.name == "local" || strings.HasPrefix(c.name, "/") || strings.HasPrefix(c.name, "localhost") {
		if name, err := os.Hostname(); err == nil {
			return name
		}
	}
	return c.name
}

// pmcdHostname asks the collector. Neither a gap nor changes in the collector are
// for this fetch: they wait for the next of the user.
func (c *Context) pmcdHostname(ctx context.Context) (string, error) {
	l, err := c.begin(ctx)
	if err != nil {
		return "", err
	}
	var r pdu.Result
	ids, _, err := l.lookup([]string{"pmcd.hostname"})
	if err == nil && ids[0] == pdu.NoPMID {
		err = pdu.ErrName
	}
	if err == nil {
		err = l.fetchValues(ids, c.currentProfile(), &r)
		l.news |= r.Changed
	}
	if err = c.end(ctx, l, err); err != nil {
		return "", err
	}
	if r.At(0).Len() != 1 {
		return "", pdu.ErrValue
	}
	return pdu.As[string](r.At(0).Atom(0, pdu.TypeString))
}
