package pmapi

import (
	"fmt"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Gap is a time without a connection, and the changes of names and metadata during that time. It
// is the error of one Fetch of a context with Dialer.AutoReconnect.
//
// Such a context reconnects automatically with the request after a failed one, but not more often
// than Dialer.Backoff says. Requests without a connection fail as those of other contexts do. On
// the new connection the context first checks all metadata that it has returned: PMIDs of names
// (Lookup, Names), descriptors (Desc, Descs) and instance domains (Instances). It keeps them for
// this purpose as long as it lives. The request that connects waits for the check. There is no Gap
// before the first connection.
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

	Names     []NameChange  // by name
	Descs     []DescChange  // by PMID
	InDoms    []InDomChange // by instance domain
	Unchecked []Unchecked   // what could not be checked
}

// A NameChange is a name that stands for another metric now. A PMID is pdu.NoPMID if the name was
// or is unknown.
type NameChange struct {
	Name    string
	Was, Is pdu.PMID
}

// A DescChange is a metric with another descriptor now. The PMID of a descriptor is
// pdu.NoPMID where there is no such metric.
type DescChange struct{ Was, Is pdu.Desc }

// An InDomChange is an instance domain with other instances now.
type InDomChange struct {
	InDom   pdu.InDom
	Was, Is []pdu.Instance // by number
}

// An Unchecked is something that could not be checked, since the request for it failed.
type Unchecked struct {
	What string // "name sample.bin", "descriptor of 29.0.6", "instances of 29.2"
	Err  error
}

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

func (c DescChange) pmid() pdu.PMID {
	if c.Was.PMID == pdu.NoPMID {
		return c.Is.PMID
	}
	return c.Was.PMID
}

// addUnchecked adds an item about which the collector replied with an error.
func (g *Gap) addUnchecked(what string, err error) {
	g.Unchecked = append(g.Unchecked, Unchecked{what, err})
}
