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

func (c *Context) pmcdHostname(ctx context.Context) (string, error) {
	ids, _, err := c.lookup(ctx, []string{"pmcd.hostname"})
	if err != nil {
		return "", err
	}
	var r pdu.Result
	if err := c.fetch(ctx, ids, &r); err != nil {
		return "", err
	}
	if r.At(0).Len() != 1 {
		return "", pdu.ErrValue
	}
	return pdu.As[string](r.At(0).Atom(0, pdu.TypeString))
}
