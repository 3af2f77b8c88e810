package sample_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/examples/internal/sample"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmda"
)

// The instances of mirage come and go by chance, so the test checks only their form.
func TestMirage(t *testing.T) { checkMirage(t, newAgent(t, sample.Options{})) }

func TestInteropMirage(t *testing.T) {
	pcptest.Need(t, programPath())
	checkMirage(t, startAgent(t, programPath()))
}

var mirageValue = regexp.MustCompile(`\[(\d+)\] 0 (-?\d+)`)

// checkMirage lets the instances change with every fetch.
func checkMirage(t *testing.T, h pmda.Handler) {
	t.Helper()
	const fetches = 400
	out := play(t, h, "fetch 37\nstore 155 32 0\n"+strings.Repeat("fetch 37\n", fetches)+
		"store 155 32 2000000\nfetch 37\nfetch 37\ninstances 3\nfetch 155")
	var sets []string
	most, seen, x := 0, map[int]bool{}, 0
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "  0.37:") {
			continue
		}
		var ids []string
		for i, m := range mirageValue.FindAllStringSubmatch(line, -1) {
			id, _ := strconv.Atoi(m[1])
			v, _ := strconv.Atoi(m[2])
			x = (x + 1) % 100
			if (id == 0) != (i == 0) || id > 49 || slices.Contains(ids, m[1]) || v != 100*(id+1)-x {
				t.Fatalf("value %d of instance %d is %d, while the counter is %d:\n%s", i, id, v, x, line)
			}
			ids, seen[id] = append(ids, m[1]), true
		}
		most = max(most, len(ids))
		sets = append(sets, strings.Join(ids, " "))
	}
	if changes := len(slices.Compact(slices.Clone(sets))); changes < fetches/2 || most < 5 || len(seen) != 50 {
		t.Errorf("the instances have changed %d times in %d fetches, there were %d at most and %d in all", changes, fetches, most, len(seen))
	}
	last := sets[len(sets)-1]
	if before := sets[len(sets)-2]; last != before {
		t.Errorf("after a long interval was set, the instances have changed twice: %s, then %s", before, last)
	}
	var list strings.Builder
	for id := range strings.FieldsSeq(last) {
		fmt.Fprintf(&list, `%s "m-%02s" `, id, id)
	}
	if want := "> instances 3\n  " + list.String() + "\n> fetch 155\n  0.155: 0 2000000\n"; !strings.HasSuffix(out, want) {
		t.Errorf("want at the end\n%sof\n%s", want, out)
	}
}
