package pmdatrace

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// Domain is the default domain of the agent, which is that of PCP's agent.
const Domain pdu.Domain = 10

const (
	defaultPeriod  = 60 * time.Second // that of PCP's agent, as is defaultBuckets
	defaultBuckets = 5
	defaultMaxTags = 65536

	maxBuckets = 1000 // every tag has memory for each bucket
	maxPeriod  = math.MaxUint32 * time.Second
)

// Options configure an agent. The zero Options are the defaults of PCP's agent, with limits.
type Options struct {
	// Domain is the domain of the agent. Zero means the constant Domain.
	Domain pdu.Domain
	// Period is the time that rates and average, minimum and maximum times cover, in whole
	// seconds; fractions of a second are dropped. Zero means a minute. It is -T of
	// pmdatrace(1).
	Period time.Duration
	// Buckets is the number of intervals in a Period, 1 to 1000. The data of an interval become
	// visible at its end. Zero means 5. It is -N of pmdatrace(1).
	Buckets int
	// ObserveUnits are the units of trace.observe.value, and CounterUnits the units of
	// trace.counter.value. They are -U and -V of pmdatrace(1).
	ObserveUnits, CounterUnits pdu.Units
	// Access says which hosts may send, and over how many connections at a time. ParseAccess
	// returns one. With rules of pmcdconf.Parse, a host is refused if they deny it all operations.
	// Nil lets every host send.
	Access *pmcdconf.Access
	// MaxClients is the maximum number of connected applications. Beyond it an idle one is
	// disconnected for a new one. Zero means 1024.
	MaxClients int
	// MaxTags is the maximum number of tags of all kinds together; further ones are refused. It
	// also limits the instance numbers that are remembered across resets. Zero means 65536.
	MaxTags int
	// MaxMemory is the approximate maximum of bytes for tags; further tags are refused. Zero means
	// 64 MiB.
	MaxMemory int
	// Logger logs refused clients and tags, and invalid PDUs. See pmda.Agent.Logger for the
	// meaning of nil.
	Logger *slog.Logger
}

// limits are the fields of Options that limit something, with their defaults.
type limits struct {
	clients, tags, memory int
}

func (o *Options) limits() limits {
	return limits{
		clients: cmp.Or(o.MaxClients, 1024),
		tags:    cmp.Or(o.MaxTags, defaultMaxTags),
		memory:  cmp.Or(o.MaxMemory, 64<<20),
	}
}

// complete sets defaults. It returns an error for the first invalid field.
func (o *Options) complete() error {
	o.Domain = cmp.Or(o.Domain, Domain)
	o.Period = cmp.Or(o.Period.Truncate(time.Second), cmp.Or(o.Period, defaultPeriod))
	o.Buckets = cmp.Or(o.Buckets, defaultBuckets)
	switch {
	case o.Period < time.Second || o.Period > maxPeriod:
		return fmt.Errorf("period %v out of range (1s..%v)", o.Period, maxPeriod)
	case o.Buckets < 1 || o.Buckets > maxBuckets:
		return fmt.Errorf("%d buckets: out of range (1..%d)", o.Buckets, maxBuckets)
	case o.MaxClients < 0 || o.MaxTags < 0 || o.MaxMemory < 0:
		return fmt.Errorf("a limit is below 0: MaxClients %d, MaxTags %d, MaxMemory %d", o.MaxClients, o.MaxTags, o.MaxMemory)
	}
	return nil
}
