package webapi

import (
	"cmp"
	"time"
)

// Defaults of Limits.
const (
	DefaultMaxContexts          = 1000
	DefaultMaxContextsPerClient = 250
	DefaultMaxViewers           = 2000
	DefaultMaxViewersPerClient  = 250
	DefaultMaxStreams           = 100
	DefaultLiveInterval         = time.Second
	DefaultMaxNames             = 100_000
	DefaultMaxURL               = 64 << 10
	DefaultMaxBody              = 1 << 20
	DefaultMaxReply             = 64 << 20
	DefaultPollTimeout          = 5 * time.Second
	DefaultMaxPollTimeout       = time.Hour
	DefaultRequestTimeout       = 5 * time.Second
)

// Limits that have no field in Limits.
const (
	maxPattern          = 1 << 10  // bytes of a list of glob patterns or regular expressions
	maxDerived          = 64 << 20 // bytes that the derived metrics of all contexts take
	maxDerivedPerClient = 16 << 20 // of these, in the contexts of one IP address
	maxPlans            = 16       // lists of metrics that a context remembers for fetch
	longReply           = 64 << 10 // bytes of a reply that counts as long
	maxSending          = 4        // times MaxReply: all long replies that are being sent
	keepBuffer          = 1 << 20  // a buffer that has grown beyond that is not used again
	sweepEvery          = 2 * time.Second
	scrapeIdle          = 5 * time.Minute // how long a context for scrapes waits for the next one: longer than scrapers do
	maxPages            = 16              // kinds of pages that a context remembers for scrapes

	maxLiveNames     = 100              // metrics of a viewer
	maxWatched       = 2000             // metrics of a stream, of all its viewers
	maxLiveValues    = 1 << 20          // bytes of the values of one metric in an event
	maxRecent        = 60               // events that a stream keeps for who comes back, and for who is new
	maxRecentBytes   = 2 << 20          // of these, beside the last one
	eventOverhead    = 1 << 10          // bytes of an event beside its values
	keepMeta         = 4 << 10          // a viewer's buffer that has grown beyond that is not used again
	maxPast          = 1000             // times of one request for values of an archive
	lookUpEvery      = 10               // fetches of a stream with names that are unknown
	liveWriteTimeout = 30 * time.Second // who does not read for so long is disconnected
)

// Limits are the limits of a Gateway for its clients. A field that is 0 has the default with its
// name.
type Limits struct {
	// MaxContexts limits the open contexts of all clients; one more has the status 503.
	// MaxContextsPerClient limits those of one IP address; one more has the status 429.
	MaxContexts, MaxContextsPerClient int
	// MaxViewers and MaxViewersPerClient limit the clients of /live/events in the same way.
	// MaxStreams limits the fetch loops that serve them. Viewers share a loop if source, interval
	// and user are equal.
	MaxViewers, MaxViewersPerClient, MaxStreams int
	// LiveInterval is the shortest interval of /live/events.
	LiveInterval time.Duration
	// MaxNames limits the metrics of one request, including those below the names that it has.
	MaxNames int
	// MaxURL and MaxBody limit a request, in bytes. A longer one has the status 414 or 413.
	MaxURL, MaxBody int
	// MaxReply limits a reply, in bytes. All replies that are being sent may have four times as
	// many, because clients that do not read would use all memory; one more has the status 503. The
	// time to send a reply is limited by http.Server.WriteTimeout.
	MaxReply int
	// PollTimeout is how long an idle context lives if the client sets no other time.
	// MaxPollTimeout is the longest time that a client can set.
	PollTimeout, MaxPollTimeout time.Duration
	// RequestTimeout limits the duration of a request. A page of /metrics that has not been read by
	// then is read to its end for the next request.
	RequestTimeout time.Duration
}

// complete is l with all defaults.
func (l Limits) complete() Limits {
	l.MaxContexts = cmp.Or(l.MaxContexts, DefaultMaxContexts)
	l.MaxContextsPerClient = cmp.Or(l.MaxContextsPerClient, DefaultMaxContextsPerClient)
	l.MaxViewers = cmp.Or(l.MaxViewers, DefaultMaxViewers)
	l.MaxViewersPerClient = cmp.Or(l.MaxViewersPerClient, DefaultMaxViewersPerClient)
	l.MaxStreams = cmp.Or(l.MaxStreams, DefaultMaxStreams)
	l.LiveInterval = cmp.Or(l.LiveInterval, DefaultLiveInterval)
	l.MaxNames = cmp.Or(l.MaxNames, DefaultMaxNames)
	l.MaxURL = cmp.Or(l.MaxURL, DefaultMaxURL)
	l.MaxBody = cmp.Or(l.MaxBody, DefaultMaxBody)
	l.MaxReply = cmp.Or(l.MaxReply, DefaultMaxReply)
	l.PollTimeout = cmp.Or(l.PollTimeout, DefaultPollTimeout)
	l.MaxPollTimeout = cmp.Or(l.MaxPollTimeout, DefaultMaxPollTimeout)
	l.RequestTimeout = cmp.Or(l.RequestTimeout, DefaultRequestTimeout)
	return l
}
