package tool

import "time"

// SetArchiveTimes sets Location, Begin, End and Origin for a tool that reads an archive without a context. The archive is of a
// host in a zone in the form of TZ, as its label has both, and goes from first to last. See SetTimes for what the options mean.
func (c *Command) SetArchiveTimes(host, zone string, first, last time.Time) error {
	return c.setTimes(timeSource{
		first: first,
		last:  last,
		host:  func() string { return host },
		zone:  func() (string, error) { return zone, nil },
		from:  " from archive",
	}, time.Now())
}
