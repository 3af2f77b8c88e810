package pmdalinux_test

import "testing"

// TestKernelEvents compares the values of good and damaged files.
func TestKernelEvents(t *testing.T) {
	const metric = "sysfs.kernel.uevent_seqnum"
	for text, want := range map[string]string{"905\n": " 905", "18446744073709551615\n": " 18446744073709551615", "": "", "905": "", "-1\n": "",
		"1 2\n": "", "1\n2\n": "", "99999999999999999999\n": "", "x\n": "", "\x00\n": ""} {
		if got := (files{"sys/kernel/uevent_seqnum": text}).valuesOf(t, metric); got != metric+want+"\n" {
			t.Errorf("of %q: %s", text, got)
		}
	}
	if got := (files{}).valuesOf(t, metric); got != metric+"\n" {
		t.Errorf("without the file: %s", got)
	}
}
