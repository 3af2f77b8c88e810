package pmdaproc

import (
	"testing"
	"time"
)

// TestNameCache checks that names are looked up once, and again after some minutes.
func TestNameCache(t *testing.T) {
	var c nameCache
	asked := 0
	find := func(id string) string { asked++; return "name of " + id }
	now := time.Now()
	for range 3 {
		c.expire(now)
		if name := c.name(&c.users, 5, find); name != "name of 5" {
			t.Error(name)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	c.expire(now.Add(keptNames + time.Second))
	if c.name(&c.users, 5, find); asked != 2 {
		t.Errorf("asked %d times", asked)
	}
	for id := range uint32(maxNames + 10) {
		c.name(&c.groups, id, find)
	}
	if len(c.groups) > maxNames || c.user(1<<32-2) != "" || c.group(1<<32-2) != "" {
		t.Error(len(c.groups))
	}
}
