package tool

// SetArchiveZone sets Location for a tool that reads an archive without a context: to the zone of -Z, with -z that of the
// archive's host, as the label of the archive has both, or else that of the environment's TZ. With ZoneNote the note on a zone
// of -Z or -z is printed on Stdout.
func (c *Command) SetArchiveZone(host, zone string) {
	c.Location = LocalZone()
	switch {
	case c.given.hostZone:
		c.Location = newZone(zone)
		c.printZoneNote("local timezone of host \"" + EscapeName(host) + "\" from archive")
	case c.given.zoneSet:
		c.Location = newZone(c.given.zone)
		c.printZoneNote("\"TZ=" + c.given.zone + "\"")
	}
}
