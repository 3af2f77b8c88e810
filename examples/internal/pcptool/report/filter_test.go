package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
)

func TestSelectInstances(t *testing.T) {
	disks := "sda|sdb|hdc"
	loads := "1 minute|5 minute|15 minute"
	processes := "000001 /sbin/init|000002 (kthreadd)|000345 -bash|000346 sshd: root@pts/0|000347 /usr/bin/bash -c x"
	for _, test := range []struct{ filters, insts, want string }{
		{"sd.", disks, "sda|sdb"},
		{"sdb|sda|.*", disks, "sdb|sda|sda|sdb|hdc"},
		{"d", disks, ""},
		{"5", loads, "5 minute"},
		{"05", loads, "5 minute"},
		{"1.*", loads, "1 minute|15 minute"},
		{"minute", loads, "1 minute|5 minute|15 minute"}, // as if they were processes
		{"m.*", loads, ""},
		{"1", processes, "000001 /sbin/init"},
		{"init", processes, "000001 /sbin/init"},
		{"kthreadd", processes, "000002 (kthreadd)"},
		{"bash", processes, "000345 -bash|000347 /usr/bin/bash -c x"},
		{"sshd", processes, "000346 sshd: root@pts/0"},
		{".*init", processes, "000001 /sbin/init"},
		{"x", "", ""},
	} {
		filters, err := newFilters(strings.Split(test.filters, "|"))
		if err != nil {
			t.Fatal(err)
		}
		var insts []pdu.Instance
		for i, name := range strings.Split(test.insts, "|") {
			if test.insts != "" {
				insts = append(insts, pdu.Instance{ID: pdu.InstID(i), Name: name})
			}
		}
		var got []string
		for _, i := range selectInstances(filters, insts) {
			got = append(got, i.Name)
		}
		if diff := cmp.Diff(test.want, strings.Join(got, "|")); diff != "" {
			t.Errorf("%s of %s (-want +got):\n%s", test.filters, test.insts, diff)
		}
	}
}

func TestFilterErrors(t *testing.T) {
	for text, want := range map[string]string{
		"(":    "Invalid regex '(': missing ), unterminated subpattern at position 2.",
		"a(b":  "Invalid regex 'a(b': missing ), unterminated subpattern at position 3.",
		"a)(b": "Invalid regex 'a)(b': unbalanced parenthesis at position 3.",
		"*":    "Invalid regex '*': nothing to repeat at position 2.",
	} {
		if _, err := newFilter(text); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}

// TestAlternatives is about the ends of an expression, which Python puts around all of it.
func TestAlternatives(t *testing.T) {
	f, err := newFilter("1 m|zzz")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"1 minute": true, "zzz": true, "zzzz": false, "x zzz": false} {
		if got := passes([]filter{f}, name); got != want {
			t.Errorf("%q passes: %v", name, got)
		}
	}
}
