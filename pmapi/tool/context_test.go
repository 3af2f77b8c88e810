package tool

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
)

// host is a collector in a zone; it does not tell which if that is empty.
type host struct{ zone string }

func (h host) HostName(context.Context) string { return "web1" }

func (h host) Lookup(_ context.Context, names ...string) ([]pdu.PMID, error) {
	if h.zone == "" {
		return []pdu.PMID{pdu.NoPMID}, pdu.ErrName
	}
	return []pdu.PMID{pdu.MakePMID(2, 0, 1)}, nil
}

func (h host) Fetch(_ context.Context, ids []pdu.PMID, r *pdu.Result) error {
	var w pdu.ResultWriter
	w.Begin(ids[0])
	w.String(pdu.NoInst, h.zone)
	made, err := w.Result()
	if err == nil {
		*r = *made
	}
	return err
}

func TestStart(t *testing.T) {
	t.Setenv("TZ", "AEST-10")
	now := time.Date(2024, time.January, 15, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name   string
		args   string
		quiet  bool
		source host
		out    string
		clock  string
		end    time.Duration // from now; -1 for none
		err    string
	}{
		{name: "nothing", clock: "22:00", end: -1},
		{name: "zone", args: "-Z EST5EDT", out: "Note: timezone set to \"TZ=EST5EDT\"\n\n", clock: "07:00", end: -1},
		{name: "three letters", args: "-ZEST", out: "Note: timezone set to \"TZ=EST\"\n\n", clock: "12:00", end: -1},
		{name: "no zone", args: "--timezone=", out: "Note: timezone set to \"TZ=\"\n\n", clock: "12:00", end: -1},
		{name: "quiet", args: "-Z EST5EDT", quiet: true, clock: "07:00", end: -1},
		{name: "host's zone", args: "-z", source: host{"CET-1"}, out: "Note: timezone set to local timezone of host \"web1\"\n\n", clock: "13:00", end: -1},
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
			if _, status := c.parse(append(strings.Fields(tt.args), "x"), func(string) (string, bool) { return "", false }); status >= 0 {
				t.Fatalf("status %d, %s", status, c.said)
			}
			var out strings.Builder
			err := c.start(t.Context(), tt.source, &out, now)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Errorf("got error %v, want %q", err, tt.err)
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

func TestRefused(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	tests := []struct {
		args string
		env  string
		want string // what is not supported; empty if the tool goes on
	}{
		{args: "-a x m", want: "archives"},
		{args: "-S 3 m", want: "archives"},
		{args: "-O 3 -z m", want: "archives"},
		{args: "-L m", want: "local contexts"},
		{args: "-h a -K clear m", want: "local contexts"},
		{args: "--container=x m", want: "containers"},
		{args: "--derived x m", want: "derived metrics"},
		{args: "-g -L m", want: "time controls"},
		{args: "m", env: "PCP_ARCHIVE", want: "archives"},
		{args: "m", env: "PCP_FOLIO", want: "archives"},
		{args: "m", env: "PCP_LOCALMODE", want: "local contexts"},
		{args: "-z m"},
	}
	for _, tt := range tests {
		c := pmval()
		getenv := none
		if tt.env != "" {
			getenv = func(name string) (string, bool) { return "x", name == tt.env }
		}
		_, status := c.parse(strings.Fields(tt.args), getenv)
		want, wantStatus := "", -1
		if tt.want != "" {
			want, wantStatus = "pmval: "+tt.want+" are not supported by this version\n", 1
		}
		if got := string(c.said); got != want || status != wantStatus {
			t.Errorf("%s %s: got %q and status %d, want %q and %d", tt.env, tt.args, got, status, want, wantStatus)
		}
	}
	c := pminfo()
	if _, status := c.parse([]string{"-c", "x"}, none); status != 1 || !strings.Contains(string(c.said), "derived metrics") {
		t.Errorf("pminfo -c: status %d, %q", status, c.said)
	}
	c = pminfo()
	if _, status := c.parse(nil, func(name string) (string, bool) { return "", name == "PCP_GUIMODE" }); status != -1 {
		t.Errorf("PCP_GUIMODE for pminfo: status %d, %q", status, c.said)
	}
}

func TestInteger(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "12": 12, " \t+12": 12, "-3": -3, "007": 7, "99999999999999999999": 1<<63 - 1} {
		if got, ok := Integer(text); got != want || !ok {
			t.Errorf("Integer(%q): got %d, %t, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{" ", "-", "1x", "0x1", "1 ", "1_000", "1.0"} {
		if got, ok := Integer(text); ok {
			t.Errorf("Integer(%q): got %d, want none", text, got)
		}
	}
}
