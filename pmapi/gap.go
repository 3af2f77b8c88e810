package pmapi

import (
	"fmt"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Gap describes a time without a connection, and how names and metadata changed during that time.
// It is the error of one Fetch of a context with Dialer.AutoReconnect.
//
// After a loss, such a context reconnects at the next request, but not more often than
// Dialer.Backoff says. Requests without a connection fail with pdu.ErrIPC. On the new connection
// the context first checks all metadata that it has returned: PMIDs of names (Lookup, Names),
// descriptors (Desc, Descs) and instance domains (Instances). It keeps a copy of them until Close.
// The request that connects waits for the check. There is no Gap before the first connection.
//
// The first Fetch on the new connection then fails with the Gap, so that values before and
// after are not treated as consecutive samples; the next Fetch succeeds. Gaps without a
// Fetch between them are reported as one.
//
// A connection also counts as lost when requests have waited, in sum, for three times
// Dialer.RequestTimeout and nothing was received on it meanwhile. Without this rule, the connection
// to a host that has lost its power breaks only after a quarter of an hour.
type Gap struct {
	Lost, Restored time.Time // by this computer's clock
	Cause          error     // why the connection was lost

	// Names has the names that stand for another metric now. pdu.NoPMID stands for an unknown name.
	Names map[string]GapChange[pdu.PMID]
	// Descs has the metrics with another descriptor now. The PMID of a descriptor is pdu.NoPMID
	// where there is no such metric.
	Descs map[pdu.PMID]GapChange[pdu.Desc]
	// InDoms has the instance domains with other instances now, which are sorted by number.
	InDoms map[pdu.InDom]GapChange[[]pdu.Instance]
	// Unchecked has the errors of requests that failed. Keys look like "name sample.bin",
	// "descriptor of 29.0.6" and "instances of 29.2".
	Unchecked map[string]error
}

// A GapChange is metadata before and after a gap.
type GapChange[T any] struct{ Was, Is T }

// Changed reports whether any metadata that the context has returned has changed, or could not be
// checked.
func (g *Gap) Changed() bool { return len(g.Names)+len(g.Descs)+len(g.InDoms)+len(g.Unchecked) > 0 }

// Error returns how long the connection was lost, and what has changed.
func (g *Gap) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no connection for %v (%v)", g.Restored.Sub(g.Lost).Round(time.Millisecond), g.Cause)
	for _, part := range []struct {
		n    int
		what string
	}{
		{len(g.Names), "names"}, {len(g.Descs), "descriptors"}, {len(g.InDoms), "instance domains"},
	} {
		if part.n > 0 {
			fmt.Fprintf(&b, ", %s changed: %d", part.what, part.n)
		}
	}
	if len(g.Unchecked) > 0 {
		fmt.Fprintf(&b, ", not checked: %d", len(g.Unchecked))
	}
	return b.String()
}
