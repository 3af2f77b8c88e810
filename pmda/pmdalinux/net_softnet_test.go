package pmdalinux_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSoftnet compares the values of files of several kernels, and damaged ones.
func TestSoftnet(t *testing.T) {
	const none = ": Metric not supported by this version of monitored application\n"
	const bad = ": Generic error, already reported above\n"
	const stat = "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu2 1 2 3 4 5 6 7 8 9 10\n"
	const zeros = " 0 0 0 0 0"
	all := func(s string) string {
		return "network.softnet.flow_limit_count" + s + "network.softnet.percpu.dropped" + s + "network.softnet.processed" + s
	}
	for _, tt := range []struct{ name, text, want string }{
		{"numbered", "1 2 3" + zeros + " 4 5 6 0 0\n" + "10 20 30" + zeros + " 40 50 ffffffff 0 2\n",
			"network.softnet.flow_limit_count 4294967301\nnetwork.softnet.percpu.dropped 0 \"cpu0\" 2 2 \"cpu2\" 32\nnetwork.softnet.processed 17\n"},
		{"old", "1 2 3" + zeros + " 4 5\n" + "10 20 30" + zeros + " 40 50\n",
			"network.softnet.flow_limit_count" + none + "network.softnet.percpu.dropped 0 \"cpu0\" 2\nnetwork.softnet.processed 17\n"},
		{"empty", "", all(bad)},
		{"cut", "1 2 3" + zeros + " 4 5 6 0 0", all(bad)},
		{"unequal", "1 2 3\n4 5\n", all(bad)},
		{"words", "1 2 x\n", all(bad)},
		{"huge", "1 2 100000000\n", all(bad)},
		{"zeros", strings.Repeat("\x00", 20) + "\n", all(bad)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := files{"proc/net/softnet_stat": tt.text, "proc/stat": stat}.valuesOf(t,
				"network.softnet.processed", "network.softnet.flow_limit_count", "network.softnet.percpu.dropped")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
	got := files{"proc/stat": stat}.valuesOf(t, "network.softnet.processed", "network.softnet.flow_limit_count", "network.softnet.percpu.dropped")
	if diff := cmp.Diff(all(none), got); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}

func TestSoftnetAllocs(t *testing.T) {
	const line = "1 2 3 0 0 0 0 0 4 5 6 0 "
	allocatesNothing(t, files{"proc/net/softnet_stat": line + "0\n" + line + "1\n",
		"proc/stat": "cpu 1 2 3 4\ncpu0 1 2 3 4\ncpu1 1 2 3 4\n"}.write(t), "network.softnet")
}
