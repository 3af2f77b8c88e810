package tool

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// newZoneContext makes a context on web1, whose zone is zone. It has no metric for the zone if that is empty.
func newZoneContext(zone string) *pmapi.Context {
	src := &pmapitest.Source{Host: "web1"}
	if zone != "" {
		pmapitest.Add(src, pmapitest.Metric[string]{Name: "pmcd.timezone"}).Set(zone)
	}
	return src.Context()
}

func TestSetTimes(t *testing.T) {
	t.Setenv("TZ", "AEST-10")
	now := time.Date(2024, time.January, 15, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name  string
		args  string
		quiet bool
		zone  string // of the host
		out   string
		clock string
		end   time.Duration // from now; -1 for none
		err   string
	}{
		{name: "nothing", clock: "22:00", end: -1},
		{name: "zone", args: "-Z EST5EDT", out: "Note: timezone set to \"TZ=EST5EDT\"\n\n", clock: "07:00", end: -1},
		{name: "three letters", args: "-ZEST", out: "Note: timezone set to \"TZ=EST\"\n\n", clock: "12:00", end: -1},
		{name: "no zone", args: "--timezone=", out: "Note: timezone set to \"TZ=\"\n\n", clock: "12:00", end: -1},
		{name: "quiet", args: "-Z EST5EDT", quiet: true, clock: "07:00", end: -1},
		{name: "host's zone", args: "-z", zone: "CET-1", out: "Note: timezone set to local timezone of host \"web1\"\n\n", clock: "13:00", end: -1},
		{name: "host without zone", args: "-z", err: "Cannot set context timezone: Missing metric value(s)"},
		{name: "finish", args: "-T 90sec", clock: "22:00", end: 90 * time.Second},
		{name: "plus", args: "-T +2", clock: "22:00", end: 2 * time.Second},
		{name: "minus", args: "-T -2sec", clock: "22:00", end: -2 * time.Second},
		{name: "empty", args: "--finish=", clock: "22:00", end: -1},
		{name: "sign", args: "-T +", clock: "22:00", end: -1},
		{name: "bad finish", args: "-T +foo", err: "invalid time window.\nfoo\n^ -- unexpected value\n"},
		{name: "before without a unit", args: "-T -2", err: "invalid time window.\n-2\n^ -- unexpected value\n"},
		{name: "bad before", args: "-T -foo", err: "invalid time window.\n-foo\n^ -- unexpected value\n"},
		{name: "time of day", args: "-T @10:00", err: "-T with a time of day is not supported by this version"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := pmval()
			c.ZoneNote = !tt.quiet
			var out strings.Builder
			c.Stdout = &out
			if message, status := parse(c, nil, append(strings.Fields(tt.args), "x")); status != -1 {
				t.Fatalf("status %d, %s", status, message)
			}
			err := c.setTimes(t.Context(), newZoneContext(tt.zone), now)
			if tt.err != "" {
				if exit, ok := errors.AsType[*ExitError](err); !ok || exit.Message != "pmval: "+tt.err+"\n" || exit.Status != 1 {
					t.Errorf("got error %+v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			end := time.Duration(-1)
			if !c.End.IsZero() {
				end = c.End.Sub(now)
			}
			type result struct {
				Out, Clock string
				End        time.Duration
			}
			if diff := cmp.Diff(result{tt.out, tt.clock, tt.end}, result{out.String(), now.In(c.Location).Format("15:04"), end}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSampleCount(t *testing.T) {
	for args, want := range map[string]int{"": -1, "-s 3": 3, "-s 0": 0, "-T 1sec": 11, "-T 1sec -s 3": 3, "-T -1sec": 0, "--finish=": 0, "-T 0.95": 10} {
		c := pmval()
		if message, status := parse(c, nil, strings.Fields(args)); status != -1 {
			t.Fatalf("status %d, %s", status, message)
		}
		if err := c.setTimes(t.Context(), newZoneContext(""), time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		if got := c.SampleCount(100 * time.Millisecond); got != want {
			t.Errorf("%s: got %d samples, want %d", args, got, want)
		}
	}
}
