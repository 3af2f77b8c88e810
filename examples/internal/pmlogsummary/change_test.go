package pmlogsummary

import (
	"flag"
	"testing"

	"github.com/pcp-go/pcp/examples/internal/toolcmp"
)

var seeds = flag.Int("seeds", 4, "how many archives are compared whose metrics change")

// TestInteropChanging compares what PCP's tool and ours print of archives whose metrics change.
func TestInteropChanging(t *testing.T) {
	toolcmp.Changing(t, "pmlogsummary", *seeds, []string{"-zaHliIv", "-zaHB 4 -p 6", "-zs"}, nil)
	toolcmp.Changing(t, "pmlogsummary", *seeds, []string{"-zbmMyf -S 10sec -T 30sec"}, []string{"PCP_COUNTER_WRAP=1"})
}
