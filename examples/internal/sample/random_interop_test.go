package sample_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestInteropRandomRequests sends random requests to PCP's agent and to this one.
func TestInteropRandomRequests(t *testing.T) {
	pcptest.Need(t, programPath())
	scripts := 5
	if *full {
		scripts = 300
	}
	for seed := range scripts {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			script := randomScript(rand.New(rand.NewPCG(uint64(seed), 0)))
			want, got := play(t, startAgent(t, programPath()), script), playHere(t, script)
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("replies (-C +Go):\n%s\nto\n%s", diff, script)
			}
		})
	}
}

// randomScript is a script of 200 requests. They do not depend on time.
func randomScript(r *rand.Rand) string {
	var fetched []int
	for item := range 169 {
		switch item {
		case 1, 2, 3, 39, 91, 111, 112, 158: // they depend on the process or on time
		case 136, 137, 139: // their times do
		default:
			fetched = append(fetched, item)
		}
	}
	fetched = append(fetched, 1000, 1001, 1008, 1023, 999)
	values := []string{"0", "1", "2", "3", "4", "5", "7", "9", "13", "50", "100", "-1", "-5", "-12357", "1000"}
	stored := map[string][]int{
		"32": {5, 6, 7, 8, 14, 36, 37, 41, 42, 61, 72, 74, 79, 126, 140, 141, 145, 159, 165, 166, 167, 168, 1008,
			4, 10, 48, 56 + 1, 62, 152, 170},
		"u32": {97, 73 - 1}, "64": {24, 38, 120, 142, 150, 24}, "u64": {40, 102}, "float": {19, 143, 151}, "double": {29, 144, 152}, "string": {32, 35},
		"aggregate": {35, 32},
	}
	types := []string{"32", "32", "32", "32", "32", "32", "u32", "64", "u64", "float", "double", "string", "aggregate"}
	inst := func() int { return []int{0, 1, 2, 3, 4, 5, 7, 100, 300, 400, 900, 250, 499}[r.IntN(13)] }
	var b strings.Builder
	for range 200 {
		switch r.IntN(10) {
		case 0, 1, 2, 3, 4:
			b.WriteString("fetch")
			for range 1 + r.IntN(8) {
				fmt.Fprintf(&b, " %d", fetched[r.IntN(len(fetched))])
			}
		case 5:
			fmt.Fprintf(&b, "profile %d", 1+r.IntN(11)) // not of processes, whose number PCP's agent takes before they change
			if r.IntN(2) == 0 {
				b.WriteString(" but")
			}
			for range r.IntN(4) {
				fmt.Fprintf(&b, " %d", inst())
			}
		case 6:
			b.WriteString([]string{"profile all", "profile none", "desc 75", "desc 86", "labels item 36"}[r.IntN(5)])
		case 7:
			fmt.Fprintf(&b, "instances %d", 1+r.IntN(13))
			if r.IntN(2) == 0 {
				fmt.Fprintf(&b, " inst %d", inst())
			}
		default:
			typ := types[r.IntN(len(types))]
			item := stored[typ][r.IntN(len(stored[typ]))]
			fmt.Fprintf(&b, "store %d %s", item, typ)
			for range 1 + r.IntN(5)/4 {
				v := values[r.IntN(len(values))]
				if strings.HasPrefix(typ, "u") {
					v = strings.TrimPrefix(v, "-")
				}
				fmt.Fprintf(&b, " %d=%s", inst(), v)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
