package pmdaproc

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzParsers checks that no parser of a process file panics, keeps values of an earlier text, or
// invents text.
func FuzzParsers(f *testing.F) {
	f.Add([]byte("1 (a) S (b) R 1 2 3 34816 -1 5 6 7 8 9 10 11 12 13 -20 5 1 0 99 2048 25 18446744073709551615 1 2 3\n"))
	f.Add([]byte("Name:\tx\nUid:\t1\t2\t3\t4\nNSpid:\t1 \t 2\t\nVmRSS:\t  12 kB\nThreads:\t99999999999999999999\nCpus_allowed_list:\t0-1\nSigBlk:\t\n"))
	f.Add([]byte("3:cpuset:/docker-" + strings.Repeat("ab", 32) + ".scope\n0::/\n:\n"))
	f.Add([]byte("Rss:   12 kB\nrchar: 5\nrchar\n"))
	f.Add([]byte("/autogroup-12 nice -5\n"))
	f.Add([]byte("pty_slave /dev/pts 136 0-1048575 pty:slave\n/dev/tty /dev/tty 5 0 system:/dev/tty\n"))
	f.Add([]byte("proc /proc proc rw,hidepid=2 0 0\n"))
	var st stat
	var su status
	var me membership
	var ke keyed
	var nu numberLine
	var au autogroup
	keys := keysOf(smapsRows)
	f.Fuzz(func(t *testing.T, text []byte) {
		var fresh stat
		ok := st.parse(bytes.Clone(text))
		if ok != fresh.parse(bytes.Clone(text)) || ok && st != fresh {
			t.Errorf("stat: %+v, want %+v", st, fresh)
		}
		if len(fresh.comm) > len(text) || ok && fresh.name == "" {
			t.Errorf("stat: %+v", fresh)
		}
		var freshStatus status
		su.parse(bytes.Clone(text))
		freshStatus.parse(bytes.Clone(text))
		for i := range su.has {
			if su.has[i] != freshStatus.has[i] || i < statusNumbers && su.n[i] != freshStatus.n[i] || i >= statusNumbers && su.has[i] && su.texts[i-statusNumbers] != freshStatus.texts[i-statusNumbers] {
				t.Errorf("status: %+v, want %+v", su, freshStatus)
			}
		}
		var freshMembership membership
		me.parse(text)
		freshMembership.parse(text)
		if me.groups != freshMembership.groups || me.container != freshMembership.container || len(me.groups) > len(text) || len(me.container) != 0 && len(me.container) != containerIDLength {
			t.Errorf("cgroup: %q %q, want %q %q", me.groups, me.container, freshMembership.groups, freshMembership.container)
		}
		var freshKeyed keyed
		ke.parse(text, keys)
		if freshKeyed.parse(text, keys); ke != freshKeyed {
			t.Errorf("smaps: %v, want %v", ke, freshKeyed)
		}
		var freshLine numberLine
		nu.parse(text)
		if freshLine.parse(text); nu != freshLine {
			t.Errorf("statm: %v, want %v", nu, freshLine)
		}
		var freshGroup autogroup
		au.parse(text)
		if freshGroup.parse(text); au != freshGroup {
			t.Errorf("autogroup: %v, want %v", au, freshGroup)
		}
		parseDrivers(text)
		hidesProcesses(text)
	})
}

// FuzzCleanArguments checks that terminal controls are removed from a command line, and that clean
// text is unchanged.
func FuzzCleanArguments(f *testing.F) {
	f.Add([]byte("a\x1b[31mb\x1b]0;x\x07c\xc2\x9bd"))
	f.Add([]byte("\xc2\x1b[m\x9b"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got := string(cleanArguments(bytes.Clone(text)))
		for i := range len(got) {
			if c := got[i]; c < ' ' || c == 0x7f || c == 0xc2 && i+1 < len(got) && got[i+1] >= 0x80 && got[i+1] < 0xa0 {
				t.Errorf("%q is %q", text, got)
			}
		}
		if again := string(cleanArguments([]byte(got))); again != got || len(got) > len(text) {
			t.Errorf("%q is %q, and %q then", text, got, again)
		}
	})
}

// TestHidesProcesses checks which mounts of /proc hide processes from other users.
func TestHidesProcesses(t *testing.T) {
	for options, want := range map[string]bool{"rw": false, "rw,hidepid=0": false, "rw,hidepid=off": false, "rw,hidepid=2,gid=5": true, "hidepid=invisible": true, "rw,hidepid=1": true} {
		for _, device := range []string{"proc", ""} {
			if got := hidesProcesses([]byte("x / ext4 rw,hidepid=9 0 0\n" + device + " /proc proc " + options + " 0 0\n")); got != want {
				t.Errorf("%s, device %q: %v", options, device, got)
			}
		}
	}
}

// TestTerminals checks names of terminals by device number.
func TestTerminals(t *testing.T) {
	n := ttyNames{drivers: parseDrivers([]byte("/dev/tty             /dev/tty        5       0 system:/dev/tty\npty_slave            /dev/pts      136 0-1048575 pty:slave\nserial /dev/ttyS 4 64-95 serial\nbad /dev/x y 1\nshort\n"))}
	for device, want := range map[uint32]string{5 << 8: "tty", 136<<8 | 3: "pts/3", 136<<8 | 1<<20: "pts/256", 4<<8 | 64: "ttyS/64", 4095 << 8: "?"} {
		if got := n.find(device); got != want {
			t.Errorf("%#x is %q, want %q", device, got, want)
		}
	}
}
