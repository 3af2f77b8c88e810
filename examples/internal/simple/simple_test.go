package simple_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/simple"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

const domain = 253

var (
	numfetch = pdu.MakePMID(domain, 0, 0)
	color    = pdu.MakePMID(domain, 0, 1)
	user     = pdu.MakePMID(domain, 1, 2)
	sys      = pdu.MakePMID(domain, 1, 3)
	now      = pdu.MakePMID(domain, 2, 4)

	request = &pmda.Request{Client: pmda.NewClient(0, 1)}
)

func newAgent(t *testing.T, conf string) *pmda.Agent {
	t.Helper()
	a := simple.New(conf)
	if err := a.Err(); err != nil {
		t.Fatal(err)
	}
	return a
}

// result encodes and decodes the values of a writer.
func result(t *testing.T, w *pdu.ResultWriter) *pdu.Result {
	t.Helper()
	b, err := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatLowRes)
	if err != nil {
		t.Fatal(err)
	}
	r := new(pdu.Result)
	if err := r.Decode(b[pdu.HeaderLen:]); err != nil {
		t.Fatal(err)
	}
	return r
}

func fetch(t *testing.T, a *pmda.Agent, ids ...pdu.PMID) *pdu.Result {
	t.Helper()
	var w pdu.ResultWriter
	if err := a.Fetch(t.Context(), request, ids, &w); err != nil {
		t.Fatal(err)
	}
	return result(t, &w)
}

// state is the count of fetches and the colours as the next fetch sees them.
func state(t *testing.T, a *pmda.Agent) string {
	t.Helper()
	var all []string
	for _, s := range fetch(t, a, numfetch, color).All() {
		for _, v := range s.All(pdu.Type32) {
			all = append(all, v.String())
		}
	}
	return strings.Join(all, " ")
}

type value struct {
	id    pdu.PMID
	insts []pdu.InstID
	vals  []int32
}

// TestStore has the replies of PCP's agent to a C client, for the stores one after the other.
func TestStore(t *testing.T) {
	a := newAgent(t, "")
	one := func(id pdu.PMID, inst pdu.InstID, v int32) value {
		return value{id, []pdu.InstID{inst}, []int32{v}}
	}
	m := func(cluster, item int) pdu.PMID { return pdu.MakePMID(domain, cluster, item) }
	tests := []struct {
		name  string
		sets  []value
		want  error
		after string
	}{
		{"bad color, numfetch", []value{one(color, 0, 300), one(numfetch, -1, 5)}, pdu.ErrBadStore, "6 0 101 201"},
		{"bad numfetch, color", []value{one(numfetch, -1, -3), one(color, 1, 5)}, pdu.ErrBadStore, "1 1 102 202"},
		{"colors 10 300 20", []value{{color, []pdu.InstID{0, 1, 2}, []int32{10, 300, 20}}}, pdu.ErrBadStore, "2 11 0 203"},
		{"instances 0 9 1", []value{{color, []pdu.InstID{0, 9, 1}, []int32{10, 20, 30}}}, pdu.ErrInst, "3 11 1 204"},
		{"unknown item, numfetch", []value{one(m(0, 7), -1, 5), one(numfetch, -1, 5)}, pdu.ErrPMID, "6 12 2 205"},
		{"not to be set, numfetch", []value{one(user, -1, 5), one(numfetch, -1, 300)}, pdu.ErrPermission, "7 13 3 206"},
		{"unknown item of another cluster, numfetch", []value{one(m(1, 7), -1, 5), one(numfetch, -1, 300)}, pdu.ErrPMID, "8 14 4 207"},
		{"now", []value{one(now, 0, 5)}, pdu.ErrPermission, "9 15 5 208"},
		{"unknown item beside now", []value{one(m(2, 5), 0, 5)}, pdu.ErrPMID, "10 16 6 209"},
		{"unknown cluster", []value{one(m(5, 0), 0, 5)}, pdu.ErrPMID, "11 17 7 210"},
		{"bad color, unknown item", []value{one(color, 0, 300), one(m(0, 7), -1, 5)}, pdu.ErrPMID, "12 0 8 211"},
		{"unknown item, bad color", []value{one(m(0, 7), -1, 5), one(color, 0, 300)}, pdu.ErrPMID, "13 1 9 212"},
		{"bad color, color", []value{one(color, 0, 300), one(color, 1, 5)}, pdu.ErrBadStore, "14 0 10 213"},
		{"good", []value{one(color, 2, 255), one(numfetch, -1, 99)}, nil, "100 1 11 0"},
	}
	for _, tt := range tests {
		var w pdu.ResultWriter
		for _, s := range tt.sets {
			w.Begin(s.id)
			for i, v := range s.vals {
				w.Int32(s.insts[i], v)
			}
		}
		if err := a.Store(t.Context(), request, result(t, &w)); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		if got := state(t, a); got != tt.after {
			t.Errorf("after %s: %s, want %s", tt.name, got, tt.after)
		}
	}
}

// A value that is no 32-bit integer changes nothing.
func TestStoreOtherType(t *testing.T) {
	for _, id := range []pdu.PMID{numfetch, color} {
		a := newAgent(t, "")
		var w pdu.ResultWriter
		w.Begin(id)
		w.String(0, "red")
		if err := a.Store(t.Context(), request, result(t, &w)); err == nil {
			t.Errorf("%v: a string can be stored", id)
		}
		if got := state(t, a); got != "1 1 101 201" {
			t.Errorf("%v: then the state is %s", id, got)
		}
	}
}

// TestConf has the instances that PCP's agent read from files.
func TestConf(t *testing.T) {
	type seen struct {
		names []string
		log   string
	}
	tests := []struct {
		name string
		text string // "-" removes the file
		want seen
	}{
		{"missing", "-", seen{nil, "ERROR stat failed on CONF: No such file or directory\n"}},
		{"still missing", "-", seen{nil, ""}},
		{"default", "sec,min,hour\n", seen{[]string{"sec=0", "min=1", "hour=2"}, ""}},
		{"unchanged", "", seen{[]string{"sec=0", "min=1", "hour=2"}, ""}},
		{"another order, repeated, second line", "hour,sec,hour,sec\nmin\n", seen{[]string{"sec=0", "hour=2"}, ""}},
		{"unknown", "sec,foo,min,,min , hour\n", seen{[]string{"sec=0", "min=1"},
			"WARN ignoring \"foo\" in CONF\nWARN ignoring \"min \" in CONF\nWARN ignoring \" hour\" in CONF\n"}},
		{"no newline", "min", seen{[]string{"min=1"}, ""}},
		{"nothing", ",", seen{nil, "WARN \"timenow\" instance domain is empty\n"}},
		{"too long", strings.Repeat(",", 250) + "min,hour", seen{[]string{"min=1"}, "WARN ignoring \"h\" in CONF\n"}},
		{"gone", "-", seen{nil, "ERROR stat failed on CONF: No such file or directory\n"}},
		{"back", "sec", seen{[]string{"sec=0"}, ""}},
	}
	conf := filepath.Join(t.TempDir(), "simple.conf")
	a := newAgent(t, conf)
	var log strings.Builder
	a.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, at slog.Attr) slog.Attr {
		if at.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return at
	}}))
	when := time.Now()
	for _, tt := range tests {
		switch tt.text {
		case "-":
			os.Remove(conf)
		case "":
		default:
			if err := os.WriteFile(conf, []byte(tt.text), 0o644); err != nil {
				t.Fatal(err)
			}
			when = when.Add(time.Nanosecond)
			if err := os.Chtimes(conf, when, when); err != nil {
				t.Fatal(err)
			}
		}
		insts, err := a.Instances(t.Context(), request, pdu.MakeInDom(domain, 1), pdu.NoInst, "")
		if err != nil {
			t.Fatal(err)
		}
		var got seen
		for _, i := range insts {
			got.names = append(got.names, fmt.Sprintf("%s=%d", i.Name, i.ID))
		}
		got.log = plain(log.String(), conf)
		log.Reset()
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(seen{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if n := fetch(t, a, now).At(0).Len(); n != len(got.names) {
			t.Errorf("%s: %d values of %d instances", tt.name, n, len(got.names))
		}
		if log.Len() > 0 {
			t.Errorf("%s: again, it says %s", tt.name, log.String())
		}
	}
}

// plain takes slog's decoration from lines.
func plain(log, conf string) string {
	log = regexp.MustCompile(`(?m)^level=(\w+) msg="(.*)"$`).ReplaceAllString(log, "$1 $2")
	return strings.NewReplacer(`\"`, `"`, conf, "CONF").Replace(log)
}

func TestNow(t *testing.T) {
	a := newAgent(t, "")
	clock := func(at time.Time) []string {
		return []string{fmt.Sprint(at.Second()), fmt.Sprint(at.Minute()), fmt.Sprint(at.Hour())}
	}
	before := clock(time.Now())
	var got []string
	for _, v := range fetch(t, a, now).At(0).All(pdu.TypeU32) {
		got = append(got, v.String())
	}
	if after := clock(time.Now()); !slices.Equal(got, before) && !slices.Equal(got, after) {
		t.Errorf("simple.now is %v, between %v and %v", got, before, after)
	}
}

// The processor times stand still from when a client sets the count of fetches back until it has
// caught up.
func TestTimes(t *testing.T) {
	a := newAgent(t, "")
	total := func() float64 {
		t.Helper()
		sum := 0.0
		for _, s := range fetch(t, a, user, sys).All() {
			v, err := pdu.As[float64](s.Atom(0, pdu.TypeDouble))
			if err != nil {
				t.Fatal(err)
			}
			sum += v
		}
		return sum
	}
	work := func() {
		for end := time.Now().Add(20 * time.Millisecond); time.Now().Before(end); {
		}
	}
	first := total()
	work()
	second := total()
	if second <= first {
		t.Errorf("after some work the times are %v, before %v", second, first)
	}
	var w pdu.ResultWriter
	w.Begin(numfetch)
	w.Int32(pdu.NoInst, 0)
	if err := a.Store(t.Context(), request, result(t, &w)); err != nil {
		t.Fatal(err)
	}
	work()
	for n := 1; n <= 2; n++ {
		if got := total(); got != second {
			t.Errorf("fetch %d after the count went back: %v, want %v as before", n, got, second)
		}
	}
	if got := total(); got <= second {
		t.Errorf("the count has caught up, but the times are still %v", got)
	}
}
