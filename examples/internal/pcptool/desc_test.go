package pcptool

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// TestInteropDesc compares with pmPrintDesc(3), which has nothing but the type for one that is not
// supported.
func TestInteropDesc(t *testing.T) {
	r, n := pcptest.Inputs(t, 10_000)
	var questions, want []string
	for range n {
		typ, sem := pdu.Type(r.IntN(14)), pdu.Sem(r.IntN(7)-1)
		u := pdu.MakeUnits(r.IntN(3)-1, r.IntN(3)-1, r.IntN(3)-1, r.IntN(9), r.IntN(6), r.IntN(16)-8)
		if r.IntN(4) == 0 {
			u = pdu.NoUnits
		}
		questions = append(questions, fmt.Sprintf("%d %d %08x", typ, sem, uint32(u)))
		text := fmt.Sprintf("    Data Type: %s  InDom: PM_INDOM_NULL 0xffffffff\n    %s\n", TypeText(typ), SemanticsText(pdu.Desc{Type: typ, Sem: sem, Units: u}))
		want = append(want, hex.EncodeToString([]byte(text)))
	}
	for i, answer := range pcptest.Oracle(t, "desc", questions) {
		if answer != want[i] {
			c, _ := hex.DecodeString(answer)
			ours, _ := hex.DecodeString(want[i])
			t.Fatalf("%s: got %q, C prints %q", questions[i], ours, c)
		}
	}
}
