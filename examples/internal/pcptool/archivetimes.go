package pcptool

import "time"

// SetArchiveTimes sets Location, Begin, End and Origin for a tool that reads an archive without a
// context. The archive is of a host in a zone in the form of TZ, as its label has both, and goes
// from first to last. See SetTimes for what the options mean.
func (c *Command) SetArchiveTimes(host, zone string, first, last time.Time) error {
	return c.setTimes(archiveTimeSource(host, zone, first, last), time.Now())
}

// SetArchiveZone is the part of SetArchiveTimes that sets Location, for a tool that computes its
// time window.
func (c *Command) SetArchiveZone(host, zone string) {
	_ = c.setLocation(archiveTimeSource(host, zone, time.Time{}, time.Time{})) // fails only if the zone has to be fetched
}

func archiveTimeSource(host, zone string, first, last time.Time) timeSource {
	return timeSource{
		bounds: func() (time.Time, time.Time, error) { return first, last, nil },
		host:   func() string { return host },
		zone:   func() (string, error) { return zone, nil },
		from:   " from archive",
	}
}
