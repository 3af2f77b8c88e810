package pcpsummary

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestFill compares with what fmt(1) has printed.
func TestFill(t *testing.T) {
	for text, want := range map[string][]string{
		"":    nil,
		"one": {"one"},
		"root pmcd proc xfs sample sampledso linux nfsclient mmv jbd2 simple": {
			"root pmcd proc xfs sample sampledso linux nfsclient mmv", "jbd2 simple"},
		"root pmcd proc xfs sample sampledso linux nfsclient mmv logger rsyslog[4] jbd2 dm simple": {
			"root pmcd proc xfs sample sampledso linux nfsclient mmv logger", "rsyslog[4] jbd2 dm simple"},
		"Available Commands:     atop atopsar dmcache dstat free htop iostat ipcs lvmcache mpstat": {
			"Available Commands:     atop atopsar dmcache dstat free htop", "iostat ipcs lvmcache mpstat"},
		"primary engine: /var/lib/pcp/config/pmie/config.default (16 rules)": {
			"primary engine: /var/lib/pcp/config/pmie/config.default", "(16 rules)"},
		"short " + strings.Repeat("x", 100) + " y": {"short", strings.Repeat("x", 100), "y"},
	} {
		if diff := cmp.Diff(want, Fill(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// TestInteropFill compares with fmt(1) of GNU.
func TestInteropFill(t *testing.T) {
	pcptest.Need(t, "fmt")
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(1, seed))
		var words []string
		for range 1 + r.IntN(40) {
			word := strings.Repeat("x", 1+r.IntN(14))
			switch r.IntN(12) {
			case 0:
				word = "(" + word
			case 1:
				word += fmt.Sprintf("[%d]", r.IntN(100))
			}
			words = append(words, word)
		}
		text := strings.Join(words, " ")
		want, _, _ := pcptest.Run(t, nil, text+"\n", "fmt", "-w", "64")
		if diff := cmp.Diff(want, strings.Join(Fill(text), "\n")+"\n"); diff != "" {
			t.Errorf("%q (-fmt +ours):\n%s", text, diff)
		}
	}
}
