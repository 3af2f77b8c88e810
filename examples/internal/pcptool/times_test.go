package pcptool

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// newZoneContext makes a context on web1, whose zone is zone. It has no metric for the zone if that
// is empty.
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
		{name: "time of day", args: "-T @15:00", clock: "22:00", end: 17 * time.Hour},
		{name: "tomorrow", args: "-T @tomorrow", clock: "22:00", end: 2 * time.Hour},
		{name: "plus", args: "-T +2", clock: "22:00", end: 2 * time.Second},
		{name: "minus", args: "-T -2sec", clock: "22:00", end: -2 * time.Second},
		{name: "empty", args: "--finish=", clock: "22:00", end: -22 * time.Hour},
		{name: "sign", args: "-T +", clock: "22:00", end: -22 * time.Hour},
		{name: "bad finish", args: "-T +foo", err: "invalid time window.\nfoo\n^ -- unexpected value\n"},
		{name: "before without a unit", args: "-T -2", err: "invalid time window.\n-2\n^ -- unexpected value\n"},
		{name: "bad before", args: "-T -foo", err: "invalid time window.\n-foo\n^ -- unexpected value\n"},
		{name: "bad time of day", args: "-T @10:70", err: "invalid time window.\n10:70\n   ^ -- unexpected value\n"},
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
			err := c.setTimes(liveTimes(t.Context(), newZoneContext(tt.zone), now), now)
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

// archiveLines are time options for an archive.
var archiveLines = []string{"", "-S 5", "-O 5", "-T 5", "-S 2 -T 3 -O 1", "-O -0", "-S -3 -T -1", "-A 2hour", "-A 1 -O 3.5", "-S foo", "-S @12:99", "-A 0",
	"-A foo", "--align=", "--start=", "--origin=", "-z", "-z -S @4:34:35 -T @Aug", "-Z UTC -S @18:34:35", "-Z EST5EDT -T @14:34:36", "-Z EST5 -O @13:34:36", "-T -1000", "-O @1998 -T @1997",
	"-S last", "-T -foo", "-O +foo", "-Z UTC -S @6-aug-1998", "-Z UTC -T @6-aug-1998"}

// TestInteropArchiveTimes compares the notes, the errors, and the start and end with those that
// pmval prints of an archive.
func TestInteropArchiveTimes(t *testing.T) {
	const archive = "/var/lib/pcp/testsuite/archives/ok-foo"
	pcptest.Need(t, "pmval", archive+".meta")
	t.Setenv("TZ", "XST5") // neither the archive's nor UTC
	for _, line := range archiveLines {
		args := append(strings.Fields(line), "-s", "1", "sample.seconds")
		stdout, want, _ := pcptest.Run(t, []string{"TZ=XST5"}, "", append([]string{"pmval", "-a", archive}, args...)...)
		for l := range strings.Lines(stdout) {
			if strings.HasPrefix(l, "Note:") || strings.HasPrefix(l, "start:") || strings.HasPrefix(l, "end:") {
				want += l
			}
		}
		c := pmval()
		var out strings.Builder
		c.Stdout = &out
		if _, err := c.Parse(append([]string{"-a", archive}, args...)); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		pc, err := c.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer pc.Close()
		got := ""
		if err := c.SetTimes(t.Context(), pc); err != nil {
			got = err.(*ExitError).Message
		} else {
			const layout = time.ANSIC
			got = strings.TrimSuffix(out.String(), "\n") + fmt.Sprintf("start:     %s\nend:       %s\n", c.Origin.In(c.Location).Format(layout), c.End.In(c.Location).Format(layout))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-C +ours):\n%s", line, diff)
		}
	}
}

func TestSampleCount(t *testing.T) {
	for args, want := range map[string]int{"": -1, "-s 3": 3, "-s 0": 0, "-T 1sec": 11, "-T 1sec -s 3": 3, "-T -1sec": 0, "--finish=": 0, "-T 0.95": 10} {
		c := pmval()
		if message, status := parse(c, nil, strings.Fields(args)); status != -1 {
			t.Fatalf("status %d, %s", status, message)
		}
		now := time.Unix(100, 0)
		if err := c.setTimes(liveTimes(t.Context(), newZoneContext(""), now), now); err != nil {
			t.Fatal(err)
		}
		if got := c.SampleCount(100 * time.Millisecond); got != want {
			t.Errorf("%s: got %d samples, want %d", args, got, want)
		}
	}
}
