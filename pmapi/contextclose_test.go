package pmapi

import (
	"errors"
	"net"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
)

// slowToClose is a source that calls during while it is being closed, and would serve on.
type slowToClose struct {
	source.Source
	during func()
}

func (s slowToClose) Close() error {
	s.during()
	return nil
}

// TestNotServedWhileClosing checks that requests fail from the call of Close on, even if the source
// is slow to close.
func TestNotServedWhileClosing(t *testing.T) {
	var c *Context
	errs := map[string]error{}
	c = newContext("shop", slowToClose{during: func() {
		_, errs["lookup"] = c.Lookup(t.Context(), []string{"shop.sold"})
		errs["fetch"] = c.Fetch(t.Context(), []pdu.PMID{0}, new(pdu.Result))
		errs["store"] = c.Store(t.Context(), "shop.sold", 1)
		_, errs["dup"] = c.Dup(t.Context())
		errs["reconnect"] = c.Reconnect(t.Context())
	}})
	c.Close()
	for op, err := range errs {
		if !errors.Is(err, net.ErrClosed) || !errors.Is(err, pdu.ErrNoContext) {
			t.Errorf("%s: error %v, want one of a context that is closed", op, err)
		}
	}
	if len(errs) != 5 {
		t.Errorf("%d requests were tried, want 5", len(errs))
	}
}
