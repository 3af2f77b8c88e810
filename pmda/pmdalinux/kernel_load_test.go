package pmdalinux_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLoad compares the values of good and damaged files.
func TestLoad(t *testing.T) {
	const (
		none = "Metric not supported by this version of monitored application"
		bad  = "Generic error, already reported above"
	)
	failed := func(err string) string {
		return "kernel.all.lastpid: " + err + "\nkernel.all.load: " + err + "\nkernel.all.nprocs: " + err + "\nkernel.all.runnable: " + err + "\n"
	}
	for _, tt := range []struct {
		name string
		tree files
		want string
	}{
		{"good", files{"proc/loadavg": "0.83 1.22 1.44 3/109 5128\n"}, `kernel.all.lastpid 5128
kernel.all.load 1 "1 minute" 0.83 5 "5 minute" 1.22 15 "15 minute" 1.44
kernel.all.nprocs 109
kernel.all.runnable 3
`},
		{"no file", files{}, failed(none)},
		{"empty", files{"proc/loadavg": ""}, failed(bad)},
		{"truncated", files{"proc/loadavg": "0.83 1.22"}, failed(bad)},
		{"cut off", files{"proc/loadavg": "0.83 1.22 1.44 3/109 51"}, failed(bad)},
		{"no threads", files{"proc/loadavg": "0.83 1.22 1.44\n"}, failed(bad)},
		{"huge", files{"proc/loadavg": "0.83 1.22 1.44 3/109 99999999999\n"}, failed(bad)},
		{"words", files{"proc/loadavg": "a b c d e\n"}, failed(bad)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.tree.valuesOf(t, "kernel.all.load", "kernel.all.lastpid", "kernel.all.runnable", "kernel.all.nprocs")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}
