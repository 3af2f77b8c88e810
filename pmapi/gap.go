package pmapi

import (
	"fmt"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Gap is a time in which a context that reconnects by itself (Dialer.AutoReconnect) had no
// connection, and what has changed in it of what the context had handed out. Such
// a context connects again by itself, when it is asked something and not more
// often than Dialer.Backoff says; it tells its profile anew, and looks again at all
// PMIDs of names (Lookup, Names), descriptors (Desc, Descs) and instance domains
// (Instances) that it has given, which it keeps for that as long as it lives.
// Requests that come while there is no connection fail as those of other contexts
// do. To connect again and to look takes of the time of the request that does it.
// A connection on which nothing has come while requests waited for three times
// Dialer.RequestTimeout, in a row, is taken for lost: that of a host without power
// breaks only after a quarter of an hour.
//
// The first Fetch on the new connection fails with the Gap, so that values before
// and after it are not taken for neighbours; the next goes on. Gaps without a Fetch
// in between are one.
type Gap struct {
	Lost, Restored time.Time // by this computer's clock
	Cause          error     // why the connection was lost

	Names     []NameChange  // by name
	Descs     []DescChange  // by PMID
	InDoms    []InDomChange // by instance domain
	Unchecked []Unchecked   // what could not be looked at
}

// A NameChange is a name that stands for another metric now, pdu.NoPMID if for
// none.
type NameChange struct {
	Name    string
	Was, Is pdu.PMID
}

// A DescChange is a metric that is described otherwise now. The PMID of Is is
// pdu.NoPMID if it is no more, that of Was if it is there again.
type DescChange struct{ Was, Is pdu.Desc }

// An InDomChange is an instance domain with other instances now.
type InDomChange struct {
	InDom   pdu.InDom
	Was, Is []pdu.Instance // by number
}

// A Unchecked is something that the new collector did not tell.
type Unchecked struct {
	What string // "name sample.bin", "descriptor of 29.0.6", "instances of 29.2"
	Err  error
}

// Changed reports whether anything that the context had handed out is not as it
// was, or could not be looked at.
func (g *Gap) Changed() bool { return len(g.Names)+len(g.Descs)+len(g.InDoms)+len(g.Unchecked) > 0 }

// Error is how long the connection was lost, and what has changed.
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
		fmt.Fprintf(&b, ", not looked at: %d", len(g.Unchecked))
	}
	return b.String()
}

func (c DescChange) pmid() pdu.PMID {
	if c.Was.PMID == pdu.NoPMID {
		return c.Is.PMID
	}
	return c.Was.PMID
}

// missing notes what the collector has refused to tell.
func (g *Gap) addUnchecked(what string, err error) {
	g.Unchecked = append(g.Unchecked, Unchecked{what, err})
}
