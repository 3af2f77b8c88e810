package webapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
)

// latencyBounds are the upper bounds of the latency buckets, in seconds.
var latencyBounds = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// refusals maps the statuses that count as refusals to their reasons.
var refusals = map[int]string{
	http.StatusUnauthorized: "login", http.StatusForbidden: "forbidden", http.StatusRequestEntityTooLarge: "size", http.StatusRequestURITooLong: "url",
	http.StatusTooManyRequests: "client_limit", http.StatusServiceUnavailable: "unavailable",
}

// stats are the metrics of a gateway.
type stats struct {
	requests map[string]*[6]*mmv.Counter // by name of the route, and by first digit of the status
	latency  []*mmv.Counter              // by bucket
	seconds  *mmv.FloatCounter
	refused  map[int]*mmv.Counter

	opened, expired *mmv.Counter
}

// newStats registers the metrics of a gateway.
func newStats(g *Gateway, r *mmv.Registry) *stats {
	s := &stats{requests: map[string]*[6]*mmv.Counter{}, refused: map[int]*mmv.Counter{}}
	routes := r.InDom("routes", mmv.Domain{Text: "Routes, with the first digit of the status of the reply"})
	requests := routes.Counter("requests", mmv.Metric{Text: "Requests that have been served", Units: pdu.UnitCount})
	add := func(name, route string) {
		classes := new([6]*mmv.Counter)
		s.requests[name] = classes
		for class := 2; class <= 5; class++ {
			status := strconv.Itoa(class) + "xx"
			inst := route + "::" + status
			routes.Add(mmv.Instance{Name: inst, Labels: mmv.Labels{"route": route, "status": status}})
			classes[class] = requests.With(inst)
		}
	}
	for name := range endpoints {
		add(name, "/pmapi/"+name)
	}
	for path := range pages {
		add(path, path)
	}
	add("", "none")
	buckets := r.InDom("request_buckets", mmv.Domain{Text: "Times of requests, each greater than the bound before"})
	latency := buckets.Counter("request_seconds", mmv.Metric{Text: "Requests by the time that they have taken, but for those that last as long as the client likes",
		Units: pdu.UnitCount, Labels: mmv.Labels{"buckets": "disjoint", "le_unit": "sec", "sum_metric": "request_time"}})
	for i := range len(latencyBounds) + 1 {
		le := "+Inf"
		if i < len(latencyBounds) {
			le = strconv.FormatFloat(latencyBounds[i], 'g', -1, 64)
		}
		buckets.Add(mmv.Instance{Name: le, ID: new(pdu.InstID(i)), Labels: mmv.Labels{"le": le}})
		s.latency = append(s.latency, latency.With(le))
	}
	s.seconds = r.FloatCounter("request_time", mmv.Metric{Text: "The sum of the times of requests", Units: pdu.TimeSec})
	reasons := r.InDom("reasons", mmv.Domain{Text: "Why requests are refused"})
	refused := reasons.Counter("refused", mmv.Metric{Text: "Requests that were refused", Units: pdu.UnitCount})
	for status, reason := range refusals {
		reasons.Add(mmv.Instance{Name: reason, Labels: mmv.Labels{"reason": reason}})
		s.refused[status] = refused.With(reason)
	}
	s.opened = r.Counter("contexts.opened", mmv.Metric{Text: "Contexts that have been opened", Units: pdu.UnitCount})
	s.expired = r.Counter("contexts.expired", mmv.Metric{Text: "Contexts that were closed since nobody used them", Units: pdu.UnitCount})
	open := r.Gauge("contexts.open", mmv.Metric{Text: "Contexts that are open", Units: pdu.UnitCount})
	viewers := r.Gauge("live.viewers", mmv.Metric{Text: "Clients that watch values as they come", Units: pdu.UnitCount})
	streams := r.Gauge("live.streams", mmv.Metric{Text: "Sources, each at an interval, that they watch", Units: pdu.UnitCount})
	r.OnRead(func() {
		g.contexts.mu.Lock()
		open.Set(int64(len(g.contexts.byID)))
		g.contexts.mu.Unlock()
		g.streams.mu.Lock()
		viewers.Set(int64(g.streams.viewers))
		streams.Set(int64(len(g.streams.byKey)))
		g.streams.mu.Unlock()
	})
	return s
}

func (s *stats) count(name string, status int, long bool, took time.Duration) {
	if c := s.requests[name][min(max(status/100, 2), 5)]; c != nil {
		c.Inc()
	}
	if c := s.refused[status]; c != nil {
		c.Inc()
	}
	if long {
		return
	}
	seconds, i := took.Seconds(), 0
	for i < len(latencyBounds) && seconds > latencyBounds[i] {
		i++
	}
	s.latency[i].Inc()
	s.seconds.Add(seconds)
}
