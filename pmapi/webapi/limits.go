package webapi

import (
	"cmp"
	"time"
)

// Constant limits.
const (
	maxPattern          = 1 << 10  // bytes of a list of glob patterns or regular expressions
	maxDerived          = 64 << 20 // bytes of the derived metrics of all contexts
	maxDerivedPerClient = 16 << 20 // the same, of one IP address
	maxPlans            = 16       // cached plans of a context
	longReply           = 64 << 10 // bytes of a reply that counts as long
	maxSending          = 4        // of all long replies that are being sent, times MaxReply
	keepBuffer          = 1 << 20  // a larger buffer is not reused
	sweepEvery          = 2 * time.Second
	scrapeIdle          = 5 * time.Minute // idle time of a context for scrapes: longer than a scrape interval
	maxPages            = 16              // cached pagers of a context

	maxLiveNames     = 100              // metrics of a viewer
	maxWatched       = 2000             // metrics of a stream, for all its viewers
	maxLiveValues    = 1 << 20          // bytes of the values of one metric in an event
	maxRecent        = 60               // events that a stream keeps for new and returning viewers
	maxRecentBytes   = 2 << 20          // the same in bytes, but the last event is always kept
	eventOverhead    = 1 << 10          // added to the values for the size of an event
	keepMeta         = 4 << 10          // a viewer's larger buffer is not reused
	maxPast          = 1000             // samples of one request for values of an archive
	lookUpEvery      = 10               // fetches of a stream between look-ups of unknown names
	liveWriteTimeout = 30 * time.Second // a viewer that does not read for so long is disconnected
)

// limits are the limits of a Gateway. A field that is 0 means the default. The Gateway has exported
// fields for some.
type limits struct {
	// MaxContexts limits the open contexts of all clients, and MaxContextsPerClient those of one IP
	// address. Beyond the latter a request gets the status 429.
	MaxContexts, MaxContextsPerClient int
	// MaxViewers and MaxViewersPerClient limit the clients of /live/events in the same way.
	// MaxStreams limits the fetch loops that serve them. Viewers share a loop if source, interval
	// and user are equal.
	MaxViewers, MaxViewersPerClient, MaxStreams int
	// LiveInterval is the shortest interval of /live/events.
	LiveInterval time.Duration
	// MaxNames limits the metrics of one request, including those below the names that it has.
	MaxNames int
	// MaxURL and MaxBody limit a request. A longer one has the status 414 or 413.
	MaxURL, MaxBody int
	MaxReply        int // bytes of a reply
	// PollTimeout is how long an idle context lives if the client sets no other time.
	// MaxPollTimeout is the longest time that a client can set.
	PollTimeout, MaxPollTimeout time.Duration
	RequestTimeout              time.Duration
}

// complete returns l with the fields of g and all defaults.
func (l limits) complete(g *Gateway) limits {
	l.MaxContexts = cmp.Or(l.MaxContexts, g.MaxContexts, 1000)
	l.MaxContextsPerClient = cmp.Or(l.MaxContextsPerClient, 250)
	l.MaxViewers = cmp.Or(l.MaxViewers, 2000)
	l.MaxViewersPerClient = cmp.Or(l.MaxViewersPerClient, 250)
	l.MaxStreams = cmp.Or(l.MaxStreams, 100)
	l.LiveInterval = cmp.Or(l.LiveInterval, time.Second)
	l.MaxNames = cmp.Or(l.MaxNames, 100_000)
	l.MaxURL = cmp.Or(l.MaxURL, 64<<10)
	l.MaxBody = cmp.Or(l.MaxBody, 1<<20)
	l.MaxReply = cmp.Or(l.MaxReply, g.MaxReply, 64<<20)
	l.PollTimeout = cmp.Or(l.PollTimeout, 5*time.Second)
	l.MaxPollTimeout = cmp.Or(l.MaxPollTimeout, time.Hour)
	l.RequestTimeout = cmp.Or(l.RequestTimeout, g.RequestTimeout, 5*time.Second)
	return l
}
