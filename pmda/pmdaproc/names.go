package pmdaproc

import (
	"os/user"
	"strconv"
	"sync"
	"time"
)

// A nameCache caches the names of users and groups.
type nameCache struct {
	mu     sync.Mutex
	until  time.Time // when they expire
	users  map[uint32]string
	groups map[uint32]string
}

const (
	keptNames = 5 * time.Minute // lifetime of names
	maxNames  = 10000           // maximum number of names
)

// user returns the name of a user, empty if the user has no name.
func (c *nameCache) user(id uint32) string {
	return c.name(&c.users, id, func(id string) string {
		u, err := user.LookupId(id)
		if err != nil {
			return ""
		}
		return u.Username
	})
}

// group returns the name of a group, empty if the group has no name.
func (c *nameCache) group(id uint32) string {
	return c.name(&c.groups, id, func(id string) string {
		g, err := user.LookupGroupId(id)
		if err != nil {
			return ""
		}
		return g.Name
	})
}

// expire removes all names after keptNames.
func (c *nameCache) expire(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.After(c.until) {
		c.until = now.Add(keptNames)
		c.users, c.groups = nil, nil
	}
}

func (c *nameCache) name(known *map[uint32]string, id uint32, find func(id string) string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	name, ok := (*known)[id]
	if !ok {
		if *known == nil || len(*known) >= maxNames {
			*known = map[uint32]string{}
		}
		name = find(strconv.FormatUint(uint64(id), 10))
		(*known)[id] = name
	}
	return name
}
