package remotewrite_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/remotewrite"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

var wholeDay = flag.Bool("day", false, "send Prometheus an archive of a day in place of one of an hour")

// startReceiver runs Prometheus as a receiver of samples that are not older than others by more
// than a window.
func startReceiver(t *testing.T, window string) (p *pcptest.Prometheus, endpoint string) {
	t.Helper()
	p = pcptest.StartPrometheus(t, "storage: {tsdb: {out_of_order_time_window: "+window+"}}\n", "--web.enable-remote-write-receiver", "--storage.tsdb.retention.time=100y")
	return p, p.URL() + "/api/v1/write"
}

func logger(t *testing.T) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }

// TestInteropLive: Prometheus has all values that were read from C's collector.
func TestInteropLive(t *testing.T) {
	p, endpoint := startReceiver(t, "2d")
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample"}})
	c, err := pmapi.Dial(t.Context(), pmcd.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const samples = 4
	e := &remotewrite.Exporter{Reader: &export.Reader{Context: c}, Endpoint: endpoint, Samples: samples, Interval: 250 * time.Millisecond,
		Timeout: time.Minute, Log: logger(t), Labels: []export.Label{{Name: "job", Value: "live"}, {Name: "instance"}}}
	if err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := e.Stats()
	if s.Sent != s.Read || s.Retries != 0 {
		t.Errorf("%+v", s)
	}
	// Prometheus has all samples but those that end series.
	stored := 0
	for _, series := range p.Query(t, `{job="live"}[1h]`) {
		stored += len(series.Values)
	}
	if n := uint64(stored); n < s.Sent.Points*95/100 || n > s.Sent.Points {
		t.Errorf("%d samples are stored, of %+v", n, s.Sent)
	}
	for query, want := range map[string]float64{
		`count_over_time(sample_long_million{job="live"}[1h])`:       samples,
		`avg_over_time(sample_long_million{job="live"}[1h])`:         1e6,
		`max_over_time(sample_ulonglong_million{job="live"}[1h])`:    1e6,
		`count(sample_colour{job="live"})`:                           3,
		`count({job="live",instance!=""})`:                           0,
		`count(sample_bin{job="live",instname="bin-500"} == 500)`:    1,
		`changes(sample_milliseconds_seconds_total{job="live"}[1h])`: samples - 1,
		`count(target_info{job="live"})`:                             1,
	} {
		if got := p.Value(t, query); got != want {
			t.Errorf("%s is %v, want %v", query, got, want)
		}
	}
	if text := p.Complaints(""); text != "" {
		t.Error(text)
	}
	if got := p.Value(t, `deriv(sample_milliseconds_seconds_total{job="live"}[1h])`); math.Abs(got-1) > 0.01 {
		t.Errorf("%v seconds per second", got)
	}
}

// A summary is a line of pmlogsummary.
type summary struct {
	metric, inst              string // inst is empty for a metric without instances
	average, rate, least, top float64
	count                     float64
	units                     string
}

// summaries are pmlogsummary's of an archive. Lines without values are left out.
func summaries(t *testing.T, path string) (all []summary) {
	t.Helper()
	out, stderr, status := pcptest.Run(t, nil, "", "pmlogsummary", "-F", "-b", "-m", "-M", "-y", "-N", "-p", "12", path)
	if status != 0 {
		t.Fatal(status, stderr)
	}
	for line := range strings.Lines(out) {
		s := summary{}
		var rest string
		s.metric, rest, _ = strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "*"), ",") // "*": the values are not of the whole time
		if strings.HasPrefix(rest, `["`) {
			s.inst, rest, _ = strings.Cut(rest[2:], `"],`)
		} else {
			rest = strings.TrimPrefix(rest, ",")
		}
		f := strings.Split(rest, ",")
		if len(f) != 6 {
			continue
		}
		for i, v := range []*float64{&s.average, &s.rate, &s.least, &s.top, &s.count} {
			*v = must(strconv.ParseFloat(f[i], 64))
		}
		s.units = f[5]
		all = append(all, s)
	}
	return all
}

// A comparison is of a metric's summaries with what Prometheus has of the series.
type comparison struct {
	t       *testing.T
	p       *pcptest.Prometheus
	names   map[string]bool // all that Prometheus has
	at      int64           // after the end of the archive
	span    int64           // from then back to before its start, in seconds
	counted map[string]int
}

// name is what a metric with a summary is called there; "" if it is not there.
func (c *comparison) name(s summary) string {
	base := strings.TrimSuffix(strings.ReplaceAll(s.metric, ".", "_"), "_total")
	for _, suffix := range units[s.units].suffixes {
		for _, kind := range []string{"", "_total"} {
			if n := strings.TrimSuffix(base, suffix) + suffix + kind; c.names[n] {
				return n
			}
		}
	}
	return ""
}

// units maps pmlogsummary's units to the suffixes of the names and the factor of the values. The
// units of a counter are those of its rate; seconds per second have no unit.
var units = map[string]struct {
	factor   float64
	suffixes []string
}{
	"none": {1, []string{"", "_seconds"}}, "/ sec": {1, []string{""}}, "count": {1, []string{""}}, "count / sec": {1, []string{"", "_per_second"}},
	"byte": {1, []string{"_bytes"}}, "Kbyte": {1 << 10, []string{"_bytes"}}, "Mbyte": {1 << 20, []string{"_bytes"}},
	"byte / sec": {1, []string{"_bytes", "_bytes_per_second"}}, "Kbyte / sec": {1 << 10, []string{"_bytes"}}, "Mbyte / sec": {1 << 20, []string{"_bytes", "_bytes_per_second"}},
	"microsec": {1e-6, []string{"_seconds"}}, "millisec": {1e-3, []string{"_seconds"}}, "sec": {1, []string{"_seconds"}}, "/ microsec": {1e6, []string{"_hertz"}},
}

func (c *comparison) near(what string, s summary, got, want float64) {
	c.counted[what]++
	if math.Abs(got-want) > 1e-6*max(math.Abs(got), math.Abs(want))+1e-9 {
		c.t.Errorf("%s of %s[%s] is %v, and %v by pmlogsummary (%s)", what, s.metric, s.inst, got, want, s.units)
	}
}

// compare compares the summaries of one metric.
func (c *comparison) compare(all []summary) {
	c.t.Helper()
	name := c.name(all[0])
	if name == "" {
		c.t.Errorf("no %s (%s)", all[0].metric, all[0].units)
		return
	}
	over := func(function string) map[string][]pcptest.PrometheusSeries {
		return c.byInstance(fmt.Sprintf("%s(%s[%ds] @ %d)", function, name, c.span, c.at))
	}
	raw := c.byInstance(fmt.Sprintf("%s[%ds] @ %d", name, c.span, c.at))
	resets, rates := over("resets"), map[string]map[string][]pcptest.PrometheusSeries{}
	average, least, top, count := over("avg_over_time"), over("min_over_time"), over("max_over_time"), over("count_over_time")
	for _, s := range all {
		factor, r := units[s.units].factor, raw[s.inst]
		switch {
		case len(r) == 0:
			c.t.Errorf("%s has no %s[%s]", name, s.metric, s.inst)
		case len(r) > 1: // its labels changed, as when pmlogger wrote the first records before any labels
			n := 0
			for _, one := range r {
				n += len(one.Values)
			}
			c.near("count, of several series", s, float64(n), s.count)
		case !strings.HasSuffix(name, "_total"):
			c.near("average", s, average[s.inst][0].Value.Value, s.average*factor)
			c.near("minimum", s, least[s.inst][0].Value.Value, s.least*factor)
			c.near("maximum", s, top[s.inst][0].Value.Value, s.top*factor)
			c.near("count", s, count[s.inst][0].Value.Value, s.count)
		case resets[s.inst][0].Value.Value > 0: // for pmlogsummary it has wrapped
			c.counted["counter with resets"]++
		default:
			// From the first sample to the last one, so that rate does not extrapolate; newer ones
			// leave out a sample at the start.
			first, last := r[0].Values[0].Time, r[0].Values[len(r[0].Values)-1].Time
			query := fmt.Sprintf("rate(%s[%dms] @ %.3f)", name, int64(math.Round((last-first)*1000))+1, last)
			if rates[query] == nil {
				rates[query] = c.byInstance(query)
			}
			if rate := rates[query][s.inst]; len(rate) == 1 {
				c.near("rate", s, rate[0].Value.Value, s.rate*factor)
			} else {
				c.t.Errorf("%s has %d rates of %s[%s]", query, len(rate), s.metric, s.inst)
			}
		}
	}
}

func (c *comparison) byInstance(query string) map[string][]pcptest.PrometheusSeries {
	c.t.Helper()
	all := map[string][]pcptest.PrometheusSeries{}
	for _, s := range c.p.Query(c.t, query) {
		all[s.Metric["instname"]] = append(all[s.Metric["instname"]], s)
	}
	return all
}

// TestInteropBackfill: a whole archive in Prometheus has the averages, least and greatest values,
// numbers of values and rates that PCP's pmlogsummary finds.
func TestInteropBackfill(t *testing.T) {
	archive := "/var/lib/pcp/testsuite/archives/small" // an hour
	if *wholeDay {
		archive = "/var/lib/pcp/testsuite/archives/20180606"
	}
	pcptest.Need(t, "pmlogsummary", archive+".index")
	p, endpoint := startReceiver(t, "2d")
	pc, err := pmapi.Open(t.Context(), archive)
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	e := &remotewrite.Exporter{Reader: &export.Reader{Context: pc}, Endpoint: endpoint, Log: logger(t), Timeout: time.Minute}
	began := time.Now()
	if err := e.Backfill(t.Context(), export.BackfillOptions{}); err != nil {
		t.Fatal(err)
	}
	s := e.Stats()
	t.Logf("%d samples in %d messages, %v", s.Sent.Points, s.Sent.Messages, time.Since(began))
	label, err := pc.ArchiveLabel()
	if err != nil {
		t.Fatal(err)
	}
	end, err := pc.ArchiveEnd(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := &comparison{t: t, p: p, names: map[string]bool{}, at: end.Unix() + 10, span: end.Unix() - label.Start.Unix() + 100, counted: map[string]int{}}
	for _, name := range namesIn(t, p) {
		c.names[name] = true
	}
	all := summaries(t, archive)
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(s summary) bool { return s.metric != all[0].metric })
		if n < 0 {
			n = len(all)
		}
		c.compare(all[:n])
		all = all[n:]
	}
	t.Log(c.counted)
	if text := p.Complaints(""); text != "" {
		t.Error(text)
	}
	if c.counted["rate"] < 50 || c.counted["average"] < 100 {
		t.Error("too few were compared")
	}
	if n := p.Value(t, fmt.Sprintf(`count({job="pcp"} @ %d)`, c.at)); n != 0 {
		t.Errorf("%v series go on after the archive", n)
	}
}

// TestInteropTooOld: an archive that is older than newer samples in Prometheus is an error, both
// without an out-of-order window and with one that is too short.
func TestInteropTooOld(t *testing.T) {
	r := record(t)
	must(0, r.im.PutText("c", "", "1"))
	must(0, r.im.Write(time.Now().Add(-24*time.Hour)))
	for _, window := range []string{"0s", "30m"} {
		_, endpoint := startReceiver(t, window)
		src := &pmapitest.Source{}
		defer src.Close()
		pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "now"}).Set(1)
		live := &remotewrite.Exporter{Reader: &export.Reader{Context: src.Context()}, Endpoint: endpoint, Samples: 1}
		if err := live.Run(t.Context()); err != nil || live.Stats().Sent.Points == 0 {
			t.Fatalf("%v, %+v", err, live.Stats())
		}
		live.Reader.Context.Close()
		pc, err := pmapi.Open(t.Context(), r.path)
		if err != nil {
			t.Fatal(err)
		}
		defer pc.Close()
		e := &remotewrite.Exporter{Reader: &export.Reader{Context: pc}, Endpoint: endpoint}
		if err := e.Backfill(t.Context(), export.BackfillOptions{}); err == nil || !strings.Contains(err.Error(), "message refused") || e.Stats().Retries > 0 {
			t.Errorf("%s: %v, %+v", window, err, e.Stats())
		} else {
			t.Log(err)
		}
	}
}

// namesIn are the names of all series.
func namesIn(t *testing.T, p *pcptest.Prometheus) []string {
	t.Helper()
	_, text := p.Get(t, "label/__name__/values?start=0")
	var names struct{ Data []string }
	if err := json.Unmarshal(text, &names); err != nil {
		t.Fatal(err)
	}
	return names.Data
}
