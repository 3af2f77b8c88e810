package pmapi

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
)

func TestInteropParseInterval(t *testing.T) {
	r, n := pcptest.Inputs(t, 80_000)
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	number := func() string {
		switch r.IntN(5) {
		case 4:
			return fmt.Sprintf("%d.%d5e-%d", r.IntN(1000), r.IntN(100000), r.IntN(10))
		case 0:
			return pick("0", "-0", "1", "+1", "-1", ".5", "5.", ".", "1e3", "1E-3", "1e", "1e+", "0x10", "0x1.8p3", "0x", "inf", "1e400", "1e-400", "07", "1_0", "1.2.3", "-", "1e18", "9e18", "1e19", "nanosec")
		case 1:
			return strconv.Itoa(r.IntN(1000))
		case 2:
			return strconv.FormatFloat(math.Exp(40*(r.Float64()-0.5)), 'g', 1+r.IntN(17), 64)
		}
		return strconv.FormatFloat(r.Float64()*1000, 'f', r.IntN(12), 64)
	}
	var texts, q []string
	for range n {
		var b strings.Builder
		for range r.IntN(5) {
			b.WriteString(pick("", "", " ", "\t", "\n ", "\v\f\r"))
			if r.IntN(30) > 0 {
				b.WriteString(number())
			}
			b.WriteString(pick("", "", " ", "\t"))
			if r.IntN(4) > 0 {
				b.WriteString(pick("nanosecond", "microsecond", "millisecond", "second", "minute", "hour", "day", "usec", "nsec", "msec", "sec", "min", "hr", "s", "m", "h", "d",
					"SEC", "Min", "mS", "ms", "ns", "secon", "x", "week", "usecond", "s_", "\xc5\xbf"))
				b.WriteString(pick("", "", "s", "S", "ss"))
			}
			b.WriteString(pick("", "", " ", " ", ",", "-"))
		}
		texts = append(texts, b.String())
		if q = append(q, hex.EncodeToString([]byte(b.String()))); b.Len() == 0 {
			q[len(q)-1] = "-"
		}
	}
	wrong, own := 0, 0
	for i, want := range pcptest.Oracle(t, "interval", q) {
		f := strings.Fields(want)
		sec, _ := strconv.ParseInt(f[1], 10, 64)
		nsec, _ := strconv.ParseInt(f[2], 10, 64)
		d, err := ParseInterval(texts[i])
		if e, ok := errors.AsType[*SpecError](err); ok && ownRefusal(e) {
			own++
			continue
		}
		got := "0 " + (time.Duration(sec)*time.Second + time.Duration(nsec) - d).String()
		want = "0 0s"
		if f[0] != "0" {
			text, err := hex.DecodeString(f[3])
			if err != nil {
				t.Fatal(err)
			}
			want = "-1 " + strings.Replace(string(text), "Null or empty specification", "number expected", 1)
		}
		if err != nil {
			got = "-1 " + CaretText(err) + "\n"
		}
		if got != want {
			if wrong++; wrong <= 10 {
				t.Errorf("%q is %v: got %q, C has %q", texts[i], d, got, want)
			}
		}
	}
	t.Logf("interval: %d inputs, %d refused on purpose, %d replies differ", len(q), own, wrong)
	if own > len(q)/10 {
		t.Errorf("%d of %d refused on purpose", own, len(q))
	}
}

// ownRefusal reports whether an error is one that the C library does not have: an interval
// too long for a time.Duration, where C's own integers may overflow, and NaN, as which C
// also reads the beginning of "nanosecond".
func ownRefusal(e *SpecError) bool {
	rest := strings.TrimLeft(e.Text[e.Offset:], "+-")
	return e.Msg == tooLong || len(rest) >= 3 && strings.EqualFold(rest[:3], "nan")
}
