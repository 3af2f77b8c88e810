package remotewrite_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/openmetrics"
	"github.com/pcp-go/pcp/pmapi/export/otlp"
	"github.com/pcp-go/pcp/pmapi/export/remotewrite"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// oneNameSource has metrics of each kind of units, and some whose names are one in Prometheus. The
// result is what a receiver has: name{instance} value.
func oneNameSource(t *testing.T) (src *pmapitest.Source, want []string) {
	src = &pmapitest.Source{}
	t.Cleanup(func() { src.Close() })
	add := func(name string, sem pdu.Sem, units pdu.Units) {
		pmapitest.Add(src, pmapitest.Metric[uint64]{Name: name, Sem: sem, Units: units}).Set(4096)
	}
	d := src.InDom("sda", "sdb")
	pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "disk.dev.read", InDom: d, Sem: pdu.SemCounter, Units: pdu.UnitCount}).Set(1, 2)
	add("kernel.all.cpu.user", pdu.SemCounter, pdu.TimeMSec)
	add("mem.util.used", pdu.SemInstant, pdu.SpaceKByte)
	add("mem.physmem_bytes", pdu.SemDiscrete, pdu.SpaceByte)
	add("net.speed", pdu.SemDiscrete, pdu.MakeUnits(1, -1, 0, 2, 3, 0))
	add("net.in.bytes", pdu.SemCounter, pdu.SpaceByte)
	add("io.rate", pdu.SemInstant, pdu.MakeUnits(0, -1, 1, 0, 3, 0))
	add("hinv.ncpu", pdu.SemDiscrete, 0)
	add("cpu.clock", pdu.SemInstant, pdu.MakeUnits(0, -1, 0, 0, 1, 0))
	add("queue.kilo", pdu.SemInstant, pdu.MakeUnits(0, 0, 1, 0, 0, 3))
	add("http.requests.total", pdu.SemCounter, pdu.UnitCount)
	// These collide.
	add("app.a.b", pdu.SemInstant, pdu.TimeSec)
	add("app.a_b", pdu.SemInstant, pdu.TimeSec)
	add("app.a_b_seconds", pdu.SemInstant, pdu.TimeMSec)
	add("app.c", pdu.SemCounter, pdu.UnitCount)
	add("app.c_total", pdu.SemCounter, pdu.UnitCount)
	add("app.c_created", pdu.SemInstant, 0)
	// A page has these for itself.
	add("target.info", pdu.SemInstant, 0)
	add("pcp.gateway.truncated", pdu.SemInstant, 0)
	add("pcp.gateway.dropped_samples", pdu.SemCounter, pdu.UnitCount)
	return src, []string{
		"app_a_b_2_seconds 4096", "app_a_b_3_seconds 4.096", "app_a_b_seconds 4096",
		"app_c_2_total 4096", "app_c_created_2 4096", "app_c_total 4096",
		"cpu_clock_hertz 4.096e+09",
		"disk_dev_read_total{sda} 1", "disk_dev_read_total{sdb} 2",
		"hinv_ncpu 4096", "http_requests_total 4096", "io_rate_per_second 4096",
		"kernel_all_cpu_user_seconds_total 4.096",
		"mem_physmem_bytes 4096", "mem_util_used_bytes 4.194304e+06",
		"net_in_bytes_total 4096", "net_speed_bytes_per_second 4.294967296e+09",
		"pcp_gateway_dropped_samples_2_total 4096", "pcp_gateway_truncated_2 4096",
		"queue_kilo 4.096e+06", "target_info_2 4096",
	}
}

// sampleText is a sample as oneNameSource has it.
func sampleText(name, inst string, value float64) string {
	if inst != "" {
		name += "{" + inst + "}"
	}
	return fmt.Sprint(name, " ", value)
}

func isOwn(name string) bool {
	return name == "target_info" || strings.HasPrefix(name, "pcp_gateway_") && !strings.Contains(name, "_2")
}

// TestOneName: Prometheus 2 and 3, scrapers of the format 0.0.4, receivers of remote write, and
// Prometheus as a receiver of OTLP have the same names, units and values.
func TestOneName(t *testing.T) {
	src, want := oneNameSource(t)
	reader := func(t *testing.T) *export.Reader {
		c := src.Context()
		t.Cleanup(func() { c.Close() })
		return &export.Reader{Context: c}
	}
	for _, way := range []struct {
		name string
		read func(t *testing.T) []string
	}{
		{"Prometheus 2", func(t *testing.T) []string {
			return scraped(t, reader(t), "", "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1")
		}},
		{"Prometheus 3", func(t *testing.T) []string {
			return scraped(t, reader(t), "", "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2")
		}},
		{"text 0.0.4", func(t *testing.T) []string {
			return scraped(t, reader(t), "?format=prometheus", "text/plain;version=0.0.4;q=1,*/*;q=0.1")
		}},
		{"remote write", func(t *testing.T) []string { return received(t, reader(t)) }},
		{"OTLP", func(t *testing.T) []string { return translated(t, reader(t)) }},
	} {
		t.Run(way.name, func(t *testing.T) {
			got := way.read(t)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// scraped are the samples of a page, each with the unit of its family.
func scraped(t *testing.T, r *export.Reader, query, accept string) (all []string) {
	t.Helper()
	req := httptest.NewRequest("GET", "/metrics"+query, nil)
	req.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	(&openmetrics.Handler{Reader: r}).ServeHTTP(w, req)
	units := map[string]string{}
	for line := range strings.Lines(w.Body.String()) {
		fields := strings.Fields(line)
		if fields[0] == "#" {
			if fields[1] == "UNIT" {
				units[fields[2]] = fields[3]
			}
			continue
		}
		name, labels, _ := strings.Cut(fields[0], "{")
		if isOwn(name) {
			continue
		}
		if unit := units[strings.TrimSuffix(name, "_total")]; !strings.HasSuffix(strings.TrimSuffix(name, "_total"), unit) {
			t.Errorf("%s has the unit %s", name, unit)
		}
		_, inst, _ := strings.Cut(labels, `instname="`)
		inst, _, _ = strings.Cut(inst, `"`)
		value, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sampleText(name, inst, value))
	}
	return all
}

// eachField calls a function with the fields of a message of protobuf: bytes or a number.
func eachField(t *testing.T, b []byte, do func(field uint64, data []byte, number uint64)) {
	t.Helper()
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		b = b[max(n, 0):]
		switch v, n := binary.Uvarint(b); key & 7 {
		case 0:
			b = b[n:]
			do(key>>3, nil, v)
		case 1:
			do(key>>3, nil, binary.LittleEndian.Uint64(b))
			b = b[8:]
		case 2:
			do(key>>3, b[n:n+int(v)], 0)
			b = b[n+int(v):]
		default:
			t.Fatalf("type %d", key&7)
		}
	}
}

// received are the samples of remote write.
func received(t *testing.T, r *export.Reader) (all []string) {
	t.Helper()
	s, err := r.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var e remotewrite.Encoder
	e.Add(s)
	message, _ := e.Append(nil)
	eachField(t, message, func(field uint64, series []byte, _ uint64) {
		if field != 1 {
			return
		}
		labels := map[string]string{}
		var value float64
		eachField(t, series, func(field uint64, part []byte, _ uint64) {
			var texts []string
			eachField(t, part, func(sub uint64, text []byte, number uint64) {
				switch {
				case field == 1:
					texts = append(texts, string(text))
				case sub == 1:
					value = math.Float64frombits(number)
				}
			})
			if len(texts) == 2 {
				labels[texts[0]] = texts[1]
			}
		})
		if name := labels["__name__"]; !isOwn(name) {
			all = append(all, sampleText(name, labels["instname"], value))
		}
	})
	return all
}

// unitWords are the words that Prometheus makes of units of OTLP.
var unitWords = map[string]string{"": "", "{count}": "", "By": "bytes", "s": "seconds", "By/s": "bytes_per_second", "{count}/s": "per_second", "Hz": "hertz"}

// A capture keeps the body of a request.
type capture struct{ body []byte }

func (c *capture) RoundTrip(req *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(req.Body)
	c.body = b
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, err
}

// translated are the samples that Prometheus makes of OTLP.
func translated(t *testing.T, r *export.Reader) (all []string) {
	t.Helper()
	type points struct {
		DataPoints []struct {
			AsInt      string
			AsDouble   float64
			Attributes []struct {
				Key   string
				Value struct{ StringValue string }
			}
		}
	}
	var message struct {
		ResourceMetrics []struct {
			ScopeMetrics []struct {
				Metrics []struct {
					Name, Unit string
					Gauge, Sum points
				}
			}
		}
	}
	c := &capture{}
	e := &otlp.Exporter{Reader: r, JSON: true, Samples: 1, Client: &http.Client{Transport: c}}
	if err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(c.body, &message); err != nil {
		t.Fatal(err)
	}
	for _, m := range message.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		// Words of letters and digits, without a repeated unit or suffix.
		words := strings.FieldsFunc(m.Name, func(r rune) bool { return r == '.' || r == '_' })
		suffixes, known := unitWords[m.Unit]
		if !known {
			t.Errorf("%s has the unit %q", m.Name, m.Unit)
		}
		if len(m.Sum.DataPoints) > 0 {
			words = slices.DeleteFunc(words, func(w string) bool { return w == "total" })
		}
		if suffixes != "" && !slices.Contains(words, suffixes) {
			words = append(words, suffixes)
		}
		if len(m.Sum.DataPoints) > 0 {
			words = append(words, "total")
		}
		for _, p := range slices.Concat(m.Gauge.DataPoints, m.Sum.DataPoints) {
			value, inst := p.AsDouble, ""
			if p.AsInt != "" {
				value, _ = strconv.ParseFloat(p.AsInt, 64)
			}
			for _, a := range p.Attributes {
				if a.Key == "instname" {
					inst = a.Value.StringValue
				}
			}
			all = append(all, sampleText(strings.Join(words, "_"), inst, value))
		}
	}
	return all
}
