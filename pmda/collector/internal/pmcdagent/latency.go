package pmcdagent

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

const (
	// latencySteps is the number of buckets between a time and twice that time.
	latencySteps = 4
	// latencyBuckets reach from a microsecond to more than an hour.
	latencyBuckets = 32*latencySteps + 1
)

// Latencies is a histogram of durations: those of the calls of an agent, or of the waits of
// replies. The zero value is empty. It is safe for concurrent use.
type Latencies struct {
	total   atomic.Int64 // nanoseconds
	max     atomic.Int64
	buckets [latencyBuckets]atomic.Uint64
}

// Add adds one duration.
func (l *Latencies) Add(d time.Duration) {
	d = max(d, 0)
	l.total.Add(int64(d))
	for {
		most := l.max.Load()
		if int64(d) <= most || l.max.CompareAndSwap(most, int64(d)) {
			break
		}
	}
	l.buckets[latencyBucket(d)].Add(1)
}

// latencyBucket returns the index of the bucket of a duration. Bucket 0 holds durations below one
// microsecond. The others divide the range between two powers of two into equal steps.
func latencyBucket(d time.Duration) int {
	steps := uint64(d / (time.Microsecond / latencySteps))
	if steps < latencySteps {
		return 0
	}
	exp := bits.Len64(steps/latencySteps) - 1
	return min(exp*latencySteps+int(steps>>exp)-latencySteps+1, latencyBuckets-1)
}

// latencyBound returns the exclusive upper bound of a bucket.
func latencyBound(bucket int) time.Duration {
	exp, step := bucket/latencySteps, bucket%latencySteps
	return time.Duration((latencySteps+uint64(step))<<exp) * time.Microsecond / latencySteps
}

// Count returns the number of durations.
func (l *Latencies) Count() (n uint64) {
	for i := range l.buckets {
		n += l.buckets[i].Load()
	}
	return n
}

// Total returns the sum of all durations.
func (l *Latencies) Total() time.Duration { return time.Duration(l.total.Load()) }

// Max returns the longest duration, or 0 if l is empty.
func (l *Latencies) Max() time.Duration { return time.Duration(l.max.Load()) }

// Quantile returns the time that the given part of the durations, such as 0.99, does not exceed.
// The result may be up to a quarter too high, but is at most Max. It is 0 if l is empty.
func (l *Latencies) Quantile(part float64) time.Duration {
	var counts [latencyBuckets]uint64
	var n uint64
	for i := range counts {
		counts[i] = l.buckets[i].Load()
		n += counts[i]
	}
	left := uint64(part * float64(n))
	for i, c := range counts {
		if c > left {
			return min(latencyBound(i), l.Max())
		}
		left -= c
	}
	return l.Max()
}

// latencyItem is the first item of the metrics of latencies. PCP lacks them, so the number leaves
// room for items that PCP may add.
const latencyItem = 100

// latencyHelp is the end of the help texts of pmcd.agent.latency.
const latencyHelp = `A call is what a request of a client takes of an agent, and its time is
that until the answer. It includes the wait for other calls of an agent in
another process.`

// addLatencies registers pmcd.agent.latency.
func (p *pmcd) addLatencies() {
	texts := latencyTexts{names: [...]string{"pmcd.agent.latency.count", "pmcd.agent.latency.total", "pmcd.agent.latency.max",
		"pmcd.agent.latency.p50", "pmcd.agent.latency.p90", "pmcd.agent.latency.p99"}, count: "Calls of agents", total: "Time that agents have taken for all calls", mean: "time of a call",
		max: "Longest time that agents have taken for a call", part: "of the calls of agents", all: "calls", help: latencyHelp}
	texts.each(func(item int, m pmda.Metric[uint64], value func(*Latencies) uint64) {
		m.ID, m.InDom = pmda.Item(4, latencyItem+item), p.agents
		m.Value = ofAgent(p, func(a Agent) (uint64, bool) {
			if a.Latencies == nil {
				return 0, false
			}
			return value(a.Latencies), true
		})
		register(p, m)
	})
}

// waitHelp is the end of the help texts of pmcd.client.latency.
const waitHelp = `A reply waits if the client has not taken what was sent before, so that the
buffers between it and the collector are full, until all of the reply is in
them or the client is disconnected. Most replies need not wait and do not
count. Clients in the collector's process do not count either.`

// addReplyWaits registers pmcd.client.latency.
func (p *pmcd) addReplyWaits() {
	texts := latencyTexts{names: [...]string{"pmcd.client.latency.count", "pmcd.client.latency.total", "pmcd.client.latency.max",
		"pmcd.client.latency.p50", "pmcd.client.latency.p90", "pmcd.client.latency.p99"}, count: "Replies that had to wait for clients", total: "Time that replies have waited for clients", mean: "wait",
		max: "Longest time that a reply has waited for a client", part: "of the waits of replies for clients", all: "waits", help: waitHelp}
	texts.each(func(item int, m pmda.Metric[uint64], value func(*Latencies) uint64) {
		m.ID = pmda.Item(6, latencyItem+item)
		m.Value = always(func() uint64 { return value(p.Collector.ReplyWaits()) })
		register(p, m)
	})
	register(p, pmda.Metric[uint64]{
		Name: "pmcd.client.latency.stopped", ID: pmda.Item(6, latencyItem+6), Sem: pdu.SemCounter, Units: pdu.UnitCount,
		Text: "Clients that were disconnected for being slow",
		Help: `Those that have not taken a reply for 30 seconds, or as long as the collector
was told; and those that have not for some seconds when memory was short.`,
		Value: always(p.Collector.SlowClients),
	})
}

// latencyTexts has the full names of metrics of latencies, and words of their help texts.
type latencyTexts struct {
	names                                    [6]string
	count, total, mean, max, part, all, help string
}

// each calls add for each of the metrics, numbered from 0.
func (t latencyTexts) each(add func(item int, m pmda.Metric[uint64], value func(*Latencies) uint64)) {
	metric := func(item int, sem pdu.Sem, units pdu.Units, text, help string, value func(*Latencies) uint64) {
		add(item, pmda.Metric[uint64]{Name: t.names[item], Sem: sem, Units: units, Text: text, Help: help + t.help}, value)
	}
	const micros = pdu.TimeUSec
	metric(0, pdu.SemCounter, pdu.UnitCount, t.count, "", (*Latencies).Count)
	metric(1, pdu.SemCounter, micros, t.total, "Its rate by that of "+t.names[0]+" is the mean "+t.mean+".\n",
		func(l *Latencies) uint64 { return microseconds(l.Total()) })
	metric(2, pdu.SemInstant, micros, t.max, "", func(l *Latencies) uint64 { return microseconds(l.Max()) })
	for i, q := range []struct {
		words string
		part  float64
	}{{"half", 0.5}, {"90 %", 0.9}, {"99 %", 0.99}} {
		metric(3+i, pdu.SemInstant, micros, "Time that "+q.words+" "+t.part+" do not exceed",
			"It is of all "+t.all+" since the collector began, and up to a quarter too long.\n",
			func(l *Latencies) uint64 { return microseconds(l.Quantile(q.part)) })
	}
}

func microseconds(d time.Duration) uint64 { return uint64(d / time.Microsecond) }
