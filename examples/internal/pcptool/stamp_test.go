package pcptool

import (
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestInteropStamp compares with pmCtime, pmPrintStamp and pmPrintHighResStamp in zones of
// pmNewZone.
func TestInteropStamp(t *testing.T) {
	r, n := pcptest.Inputs(t, 2_000)
	var questions, want []string
	for _, zone := range []string{"UTC", "EST", "EST5EDT", "XST5XDT,M3.2.0,M11.1.0", "YST-9:30", "EST-11EST-10,87/2:00,297/2:00", "foo"} {
		loc := NewZone(zone)
		for range n {
			at := time.Unix(r.Int64N(4_000_000_000), r.Int64N(1e9)).In(loc)
			questions = append(questions, fmt.Sprintf("%s %d %d", hex.EncodeToString([]byte(zone)), at.Unix(), at.Nanosecond()))
			want = append(want, hex.EncodeToString([]byte(at.Format(CtimeLayout)+"\n"))+" "+at.Format(StampLayout)+" "+at.Format(HighResStampLayout))
		}
	}
	for i, answer := range pcptest.Oracle(t, "stamp", questions) {
		if answer != want[i] {
			t.Errorf("%s: got %s, C prints %s", questions[i], want[i], answer)
		}
	}
}
