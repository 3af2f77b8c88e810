package collector

import "github.com/pcp-go/pcp/pdu"

// A profile is the profile that a client has sent for one of its contexts.
type profile struct {
	*pdu.Profile
	bytes   int   // what the client is charged for it
	refused error // why it is not kept: PROFILE has no reply, so the next fetch says it
}

// keepProfile replaces the profile of a context, if memory for the new one is left.
func (c *client) keepProfile(context int32, p *pdu.Profile) {
	c.dropProfile(context)
	n := profileSize(p)
	if short := c.profileMemory.reserve(int64(n)); short != nil {
		c.logShortage("profile", n, short)
		c.profiles[context] = profile{refused: short}
		return
	}
	if err := c.reserve("profile", n); err != nil {
		c.profileMemory.release(int64(n))
		c.profiles[context] = profile{refused: err}
		return
	}
	c.profiles[context] = profile{Profile: p, bytes: n}
}

// dropProfile releases the memory of a profile.
func (c *client) dropProfile(context int32) {
	if n := c.profiles[context].bytes; n > 0 {
		c.profileMemory.release(int64(n))
		c.memory.release(int64(n))
	}
	delete(c.profiles, context)
}

// profileSize returns about how many bytes a profile takes.
func profileSize(p *pdu.Profile) int {
	const (
		base  = 128 // with its place in the table
		entry = 40
	)
	n := base + entry*cap(p.InDoms)
	for _, e := range p.InDoms {
		n += max(8, 4*cap(e.Insts))
	}
	return n
}
