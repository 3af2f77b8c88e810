package pmstat

import (
	"context"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A source is a host or an archive of the report.
type source struct {
	*command
	pc        *pmapi.Context
	isArchive bool
	node      string // the name of the host

	metrics [metricCount]metric
	ids     []pdu.PMID // of the metrics, by their slots

	now, before pdu.Result // the latest sample, and the one before it
	samples     int        // fetched so far, without those that have failed
	printed     bool       // a row
	noData      bool       // that the archive has ended without a row has been printed
	time        time.Time  // of the latest fetch; if that has failed by this computer's clock
	dropped     bool       // no more is fetched
}

// fetch fetches the next sample. If that fails, the previous samples stay.
func (s *source) fetch(ctx context.Context) error {
	s.now, s.before = s.before, s.now
	if err := s.pc.Fetch(ctx, s.ids, &s.now); err != nil {
		s.now, s.before = s.before, s.now
		s.time = time.Now()
		return err
	}
	s.samples++
	s.time = s.now.Time
	if s.now.Changed.AffectsNames() {
		s.findAgain(ctx)
	}
	return nil
}

// findAgain looks up the metrics after a change in the collector. A metric that has changed has
// values from the next sample on.
func (s *source) findAgain(ctx context.Context) {
	old, ids := s.metrics, s.ids
	s.ids = nil
	if !s.find(ctx) {
		s.ids = ids // so that the next fetch says whether there are metrics again
	}
	for m := range s.metrics {
		n := &s.metrics[m]
		if n.since = old[m].since; old[m].slot < 0 || n.desc != old[m].desc || n.inst != old[m].inst {
			n.since = s.samples + 1
		}
	}
}

// value returns the value of a metric in a sample. ok is false if it has no value.
func (s *source) value(r *pdu.Result, m int) (a pdu.Atom, ok bool) {
	sample := s.samples
	if r == &s.before {
		sample--
	}
	if s.metrics[m].slot < 0 || sample < s.metrics[m].since {
		return a, false
	}
	for _, set := range r.All() {
		if set.PMID != s.metrics[m].desc.PMID {
			continue // metrics have other places since they were found again
		}
		for i := range set.Len() {
			if set.Inst(i) == s.metrics[m].inst || s.metrics[m].inst == pdu.NoInst {
				return set.Atom(i, s.metrics[m].desc.Type), true
			}
		}
	}
	return a, false
}

// loadAverage returns the load average. ok is false if it has no value.
func (s *source) loadAverage() (v float64, ok bool) {
	a, ok := s.value(&s.now, load)
	if !ok {
		return 0, false
	}
	v, err := pdu.As[float64](a)
	return v, err == nil
}

// numberOf returns the value of a metric as it is printed: memory in Kbyte, a counter as its rate
// per second. ok is false without a value, and for a value that is negative or too large for a T.
func numberOf[T uint32 | uint64](s *source, m int) (v T, ok bool) {
	a, ok := s.value(&s.now, m)
	if !ok {
		return 0, false
	}
	d := s.metrics[m].desc
	var err error
	switch {
	case inKByte(m) && d.Units != pdu.SpaceKByte:
		a, err = toKByte(a, d.Units)
	case !inKByte(m) && d.Sem == pdu.SemCounter:
		a, err = s.rate(m, a)
	}
	if err != nil {
		return 0, false
	}
	v, err = pdu.As[T](a)
	return v, err == nil
}

func toKByte(a pdu.Atom, units pdu.Units) (pdu.Atom, error) {
	v, err := pdu.As[float64](a)
	if err != nil {
		return a, err
	}
	return pdu.Float64(v).ConvertUnits(units, pdu.SpaceKByte)
}

// rate returns the rate of a counter from the previous sample to a value.
func (s *source) rate(m int, to pdu.Atom) (pdu.Atom, error) {
	if s.samples < 2 {
		return to, pdu.ErrAgain
	}
	from, ok := s.value(&s.before, m)
	if !ok {
		return to, pdu.ErrAgain
	}
	elapsed := s.now.Time.Sub(s.before.Time)
	if _, _, step := s.pc.Mode(); step < 0 { // the archive is read backwards
		from, to, elapsed = to, from, -elapsed
	}
	rate, err := pmapi.CounterRate(from, to, elapsed, s.wrap)
	return pdu.Float64(rate), err
}

// usage is the use of the processors.
type usage struct{ user, sys, idle, wait, steal, guest uint32 }

// percent is the usage of the processors in percent. ok is false if it is not known. Without
// extended, waiting is idle and what other guests have taken is of the system. Time of own guests,
// which is also of the user, counts twice with extended, as in PCP.
func (s *source) percent() (u usage, ok bool) {
	var v [metricCount]uint64
	var total uint64
	last := cpuSteal
	if s.extended {
		last = cpuGuestNice
	}
	for m := cpuNice; m <= last; m++ {
		n, ok := numberOf[uint64](s, m)
		if !ok && (m == cpuUser || m == cpuSys || m == cpuIdle) {
			return u, false
		}
		v[m] = n
		total += n
	}
	if total == 0 {
		return u, false
	}
	percent := func(n uint64) uint32 { return uint32((100*n + total/2) / total) }
	if s.extended {
		return usage{
			user: percent(v[cpuNice] + v[cpuUser]), sys: percent(v[cpuIntr] + v[cpuSys]), idle: percent(v[cpuIdle]),
			wait: percent(v[cpuWait]), steal: percent(v[cpuSteal]), guest: percent(v[cpuGuest] + v[cpuGuestNice]),
		}, true
	}
	return usage{
		user: percent(v[cpuNice] + v[cpuUser]), sys: percent(v[cpuIntr] + v[cpuSys] + v[cpuSteal]), idle: percent(v[cpuIdle] + v[cpuWait]),
	}, true
}

// isPast reports whether the archive ends before the next sample.
func (s *source) isPast(ctx context.Context) bool {
	if !s.isArchive {
		return false
	}
	_, next, _ := s.pc.Mode()
	end, err := s.pc.ArchiveEnd(ctx)
	return err != nil || next.After(end)
}
