package logtext

import (
	"slices"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// TestHashOrder has metrics of PCP's test archive ok-foo in the order of its file, and in that of pmdumplog -d.
func TestHashOrder(t *testing.T) {
	id := pdu.MakePMID
	keys := []pdu.PMID{id(2, 3, 3), id(2, 3, 0), id(2, 3, 2), id(29, 0, 46), id(29, 0, 7), id(29, 0, 6), id(29, 0, 5), id(29, 0, 2)}
	want := []pdu.PMID{id(29, 0, 46), id(29, 0, 5), id(2, 3, 0), id(29, 0, 6), id(29, 0, 7), id(29, 0, 2), id(2, 3, 2), id(2, 3, 3)}
	var got []pdu.PMID
	for _, i := range HashOrder(keys) {
		got = append(got, keys[i])
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if HashOrder[pdu.PMID](nil) == nil {
		t.Error("no order of nothing")
	}
}

func TestClock(t *testing.T) {
	at := time.Unix(902428472, 257504999)
	for _, test := range []struct {
		zone   *time.Location
		digits int
		date   bool
		want   string
	}{
		{time.UTC, Millis, false, "18:34:32.257"},
		{time.UTC, Micros, false, "18:34:32.257504"},
		{time.UTC, Nanos, false, "18:34:32.257504999"},
		{time.UTC, Micros, true, "Thu Aug  6 18:34:32.257504 1998"},
		{time.FixedZone("", 10*3600), Millis, true, "Fri Aug  7 04:34:32.257 1998"},
	} {
		c := Clock{Location: test.zone, Digits: test.digits}
		appendTime := c.Append
		if test.date {
			appendTime = c.AppendDate
		}
		for range 2 { // the second time the clock knows the second
			if got := string(appendTime(nil, at)); got != test.want {
				t.Errorf("%v, %d digits: %s, want %s", test.zone, test.digits, got, test.want)
			}
		}
		if got, want := string(c.Append(nil, time.Unix(0, 0).Add(time.Second)))[3:8], "00:01"; got != want {
			t.Errorf("one second after 1970: %s, want %s", got, want)
		}
	}
	if got, want := Seconds(time.Unix(10, 900e6), time.Unix(12, 100e6)), 1.2; got < want-1e-9 || got > want+1e-9 {
		t.Errorf("%v seconds, want %v", got, want)
	}
}
