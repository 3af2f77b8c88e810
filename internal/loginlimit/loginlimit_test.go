package loginlimit

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// A user may fail as often in a minute as the limit says, at once or evenly. Other users and other
// addresses are not concerned, however many there are.
func TestFailures(t *testing.T) {
	var f Failures
	now := time.Unix(1e9, 0)
	failures := func(address, user string, limit int) (n int) {
		for k := KeyOf(address, user); n < 1000 && f.Allowed(k, limit, now); n++ {
			f.Add(k, limit, now)
		}
		return n
	}
	if n := failures("a", "amy", 10); n != 10 {
		t.Errorf("%d failures at once, want 10", n)
	}
	if n := failures("a", "bob", 10); n != 10 {
		t.Errorf("%d failures of another user, want 10", n)
	}
	if n := failures("", "amy", 10); n != 1000 {
		t.Errorf("%d failures without an address, want no limit", n)
	}
	now = now.Add(12 * time.Second)
	if n := failures("a", "amy", 10); n != 2 {
		t.Errorf("%d failures 12 s later, want 2", n)
	}
	for i := range maxKeys + 50 {
		k := KeyOf(fmt.Sprint(i), "amy")
		if !f.Allowed(k, 10, now) {
			t.Fatalf("address %d is refused for others", i)
		}
		f.Add(k, 10, now)
	}
	if n := len(f.until); n > maxKeys {
		t.Errorf("%d keys are remembered", n)
	}
	if f.Allowed(KeyOf("a", "amy"), 10, now) {
		t.Error("a key at its limit was forgotten for others that are not")
	}
	now = now.Add(time.Hour)
	f.Add(KeyOf("new", ""), 10, now)
	if n := len(f.until); n != 1 {
		t.Errorf("%d keys are remembered after an hour, want 1", n)
	}
}

func TestAddress(t *testing.T) {
	for ip, want := range map[string]string{
		"192.0.2.7":        "192.0.2.7/32",
		"::ffff:192.0.2.7": "192.0.2.7/32",
		"2001:db8::1":      "2001:db8::/64",
		"fe80::1:2%eth0":   "fe80::/64",
	} {
		if got := Address(netip.MustParseAddr(ip)); got != want {
			t.Errorf("%s: %s, want %s", ip, got, want)
		}
	}
}
