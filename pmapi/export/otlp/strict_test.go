package otlp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// A strict reader of ExportMetricsServiceRequest. From the protocol's JSON encoding it requires: no
// unknown or repeated keys, 64-bit integers as strings, enumerations as numbers, and exactly one
// value in each AnyValue and data point. From the data model it requires: one resource with a
// service, one scope with a name, unique attributes and series, one time in a message, one type of
// numbers in a metric, units of UCUM, buckets that fit their bounds, and start times not after
// their points.

// A series is the identity and value of a data point.
type series struct {
	metric, kind, attributes string
	start, time              int64
	value                    any // int64, float64, []uint64 for a histogram, or nil
	sum                      any // sum of a histogram: float64 or nil
}

func (s series) id() string { return s.metric + " " + s.kind + s.attributes }

// An object is a JSON object. Reading a key removes it.
type object struct {
	path string
	m    map[string]any
	errs *[]error
}

func (o object) fail(format string, args ...any) {
	*o.errs = append(*o.errs, fmt.Errorf(o.path+": "+format, args...))
}

func (o object) take(key string) any {
	v := o.m[key]
	delete(o.m, key)
	return v
}

func (o object) end() {
	for key := range o.m {
		o.fail("unknown key %q", key)
	}
}

func (o object) object(key string) object {
	m, ok := o.take(key).(map[string]any)
	if !ok {
		o.fail("%s is no object", key)
	}
	return object{o.path + "." + key, m, o.errs}
}

func (o object) list(key string) (all []object) {
	for i, m := range o.values(key) {
		m, ok := m.(map[string]any)
		if !ok {
			o.fail("%s[%d] is no object", key, i)
		}
		all = append(all, object{fmt.Sprintf("%s.%s[%d]", o.path, key, i), m, o.errs})
	}
	return all
}

func (o object) values(key string) []any {
	v := o.take(key)
	l, ok := v.([]any)
	if v != nil && !ok {
		o.fail("%s is no list", key)
	}
	return l
}

func (o object) text(key string) string {
	v := o.take(key)
	s, ok := v.(string)
	if v != nil && !ok {
		o.fail("%s is no string", key)
	}
	return s
}

func (o object) int64(key string, v any) int64 {
	s, ok := v.(string)
	n, err := strconv.ParseInt(s, 10, 64)
	if !ok || err != nil || strconv.FormatInt(n, 10) != s {
		o.fail("%s is %v, no int64 in a string", key, v)
	}
	return n
}

func (o object) double(key string, v any) float64 {
	if s, ok := v.(string); ok && slices.Contains([]string{"NaN", "Infinity", "-Infinity"}, s) {
		f, _ := strconv.ParseFloat(s, 64)
		return f
	}
	n, ok := v.(json.Number)
	f, err := strconv.ParseFloat(n.String(), 64)
	if !ok || err != nil {
		o.fail("%s is %v, no double", key, v)
	}
	return f
}

// attributes returns the attributes of an object, sorted.
func (o object) attributes() string {
	all := map[string]string{}
	for _, a := range o.list("attributes") {
		a.pair(all)
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, " %s=%s", key, all[key])
	}
	return b.String()
}

func (o object) pair(all map[string]string) {
	key := o.text("key")
	if _, twice := all[key]; twice || key == "" {
		o.fail("key %q is empty, or there already", key)
	}
	all[key] = o.object("value").any()
	o.end()
}

// any formats an AnyValue.
func (o object) any() string {
	if len(o.m) != 1 {
		o.fail("%d values", len(o.m))
	}
	for key := range o.m {
		switch key {
		case "stringValue":
			return strconv.Quote(o.text(key))
		case "boolValue":
			v, ok := o.take(key).(bool)
			if !ok {
				o.fail("no bool")
			}
			return fmt.Sprint(v)
		case "intValue":
			return fmt.Sprint(o.int64(key, o.take(key)))
		case "doubleValue":
			return fmt.Sprintf("%v.", o.double(key, o.take(key)))
		case "arrayValue":
			l := o.object(key)
			var items []string
			for _, v := range l.list("values") {
				items = append(items, v.any())
			}
			l.end()
			return fmt.Sprint(items)
		case "kvlistValue":
			l, all := o.object(key), map[string]string{}
			for _, v := range l.list("values") {
				v.pair(all)
			}
			l.end()
			return fmt.Sprint(all)
		}
	}
	o.end()
	return ""
}

// A request is a decoded message.
type request struct {
	resource string
	units    map[string]string // by metric
	texts    map[string]string
	points   []series
}

// decode reads a message strictly.
func decode(body []byte) (*request, error) {
	if !utf8.Valid(body) {
		return nil, errors.New("no UTF-8")
	}
	if err := repeatedKey(body); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("more than one value")
	}
	var errs []error
	top := object{"", m, &errs}
	r := &request{units: map[string]string{}, texts: map[string]string{}}
	resources := top.list("resourceMetrics")
	if len(resources) != 1 {
		top.fail("%d resources", len(resources))
	}
	for _, rm := range resources {
		res := rm.object("resource")
		if r.resource = res.attributes(); !strings.Contains(r.resource, " service.name=") {
			res.fail("no service.name")
		}
		res.end()
		scopes := rm.list("scopeMetrics")
		if len(scopes) != 1 {
			rm.fail("%d scopes", len(scopes))
		}
		for _, sm := range scopes {
			scope := sm.object("scope")
			if scope.text("name") == "" {
				scope.fail("no name")
			}
			scope.text("version")
			scope.end()
			for _, m := range sm.list("metrics") {
				r.metric(m)
			}
			sm.end()
		}
		rm.end()
	}
	top.end()
	return r, errors.Join(errs...)
}

// ucum matches the UCUM units that PCP's units become. Only some of them can have an exponent.
var ucum = func() *regexp.Regexp {
	const unit = `(?:By|[KMGTPEZY]iBy|[num]?s|min|h)[2-8]?`
	const all = `(?:` + unit + `|\{count\})`
	return regexp.MustCompile(`^(?:|(?:1|` + all + `(?:\.` + all + `)*)(?:/` + all + `)*|Cel|\[degF\]|K|[mu]?[VA]|[kmu]?W)$`)
}()

func (r *request) metric(o object) {
	name := o.text("name")
	if _, twice := r.units[name]; twice || name == "" {
		o.fail("metric %q is empty, or there already", name)
	}
	r.units[name], r.texts[name] = o.text("unit"), o.text("description")
	if unit := r.units[name]; !ucum.MatchString(unit) {
		o.fail("unit %q", unit)
	}
	if len(o.m) != 1 {
		o.fail("%d kinds of data", len(o.m))
	}
	for kind := range o.m {
		data := o.object(kind)
		if kind != "gauge" {
			if n, ok := data.take("aggregationTemporality").(json.Number); !ok || n != "2" {
				data.fail("temporality %v", n)
			}
		}
		if kind == "sum" {
			if monotonic, ok := data.take("isMonotonic").(bool); !ok || !monotonic {
				data.fail("not monotonic")
			}
		}
		seen, numbers := map[string]bool{}, ""
		points := data.list("dataPoints")
		if len(points) == 0 {
			data.fail("no points")
		}
		for _, p := range points {
			s := point(p, name, kind)
			if seen[s.attributes] {
				p.fail("attributes that another point has:%s", s.attributes)
			}
			seen[s.attributes] = true
			if len(r.points) > 0 && s.time != r.points[0].time {
				p.fail("time %d in a message of %d", s.time, r.points[0].time)
			}
			if s.value != nil {
				if kind := fmt.Sprintf("%T", s.value); numbers == "" {
					numbers = kind
				} else if numbers != kind {
					p.fail("%s in a metric of %s", kind, numbers)
				}
			}
			r.points = append(r.points, s)
		}
		data.end()
	}
	o.end()
}

func point(o object, name, kind string) series {
	s := series{metric: name, kind: kind, attributes: o.attributes()}
	if s.time = o.int64("timeUnixNano", o.take("timeUnixNano")); s.time <= 0 {
		o.fail("no time")
	}
	if v := o.take("startTimeUnixNano"); v != nil {
		s.start = o.int64("startTimeUnixNano", v)
	}
	if s.start > s.time || (s.start == 0) != (kind == "gauge") {
		o.fail("start %d, time %d", s.start, s.time)
	}
	if v := o.take("flags"); v != nil {
		if kind == "histogram" { // its buckets are empty, and tell the receiver which series end
			if counts, sum := histogram(o); slices.Max(counts) > 0 || sum != nil {
				o.fail("flags %v, counts %v, sum %v", v, counts, sum)
			}
		}
		if v != json.Number("1") || len(o.m) != 0 {
			o.fail("flags %v and %d other members", v, len(o.m))
		}
		return s
	}
	switch kind {
	case "gauge", "sum":
		if v := o.take("asInt"); v != nil {
			s.value = o.int64("asInt", v)
		} else {
			s.value = o.double("asDouble", o.take("asDouble"))
		}
	case "histogram":
		s.value, s.sum = histogram(o)
	default:
		o.fail("unknown kind")
	}
	o.end()
	return s
}

func histogram(o object) (all []uint64, sum any) {
	counts, bounds := o.values("bucketCounts"), o.values("explicitBounds")
	if len(counts) != len(bounds)+1 {
		o.fail("%d counts, %d bounds", len(counts), len(bounds))
	}
	if v := o.take("sum"); v != nil {
		if f := o.double("sum", v); f >= 0 && !(len(bounds) > 0 && o.double("bound", bounds[0]) < 0) {
			sum = f
		} else {
			o.fail("sum %v with bounds %v", v, bounds)
		}
	}
	last := 0.
	for i, v := range bounds {
		f := o.double("bound", v)
		if i > 0 && f <= last {
			o.fail("bound %v after %v", f, last)
		}
		last = f
	}
	var total int64
	for _, v := range counts {
		n := o.int64("count", v)
		total += n
		all = append(all, uint64(n))
	}
	if n := o.int64("count", o.take("count")); n != total {
		o.fail("count %d, sum of buckets %d", n, total)
	}
	return all, sum
}

// repeatedKey finds an object with a repeated key, which encoding/json accepts.
func repeatedKey(body []byte) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return repeatedIn(d)
}

func repeatedIn(d *json.Decoder) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	delim, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	keys := map[any]bool{}
	for d.More() {
		if delim == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			if keys[key] {
				return fmt.Errorf("key %v twice", key)
			}
			keys[key] = true
		}
		if err := repeatedIn(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// TestStrict: the reader accepts a valid message, and no message that breaks a rule.
func TestStrict(t *testing.T) {
	const point = `{"attributes":[{"key":"instid","value":{"intValue":"1"}},{"key":"a","value":{"stringValue":"x"}}],"startTimeUnixNano":"1","timeUnixNano":"2","asInt":"3"}`
	const good = `{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"pcp"}}]},"scopeMetrics":[{"scope":{"name":"n","version":"1"},"metrics":[` +
		`{"name":"c","description":"d","unit":"KiBy/s","sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[` + point + `]}},` +
		`{"name":"g","gauge":{"dataPoints":[{"timeUnixNano":"2","asDouble":"NaN"}]}},` +
		`{"name":"h","histogram":{"aggregationTemporality":2,"dataPoints":[{"startTimeUnixNano":"1","timeUnixNano":"2","bucketCounts":["1","2"],"explicitBounds":[0.5],"count":"3"}]}}]}]}]}`
	if r, err := decode([]byte(good)); err != nil || len(r.points) != 3 {
		t.Fatalf("%v, %+v", err, r)
	}
	for _, change := range [][2]string{
		{`"timeUnixNano":"2","asInt"`, `"time_unix_nano":"2","asInt"`},
		{`"timeUnixNano":"2","asInt"`, `"timeUnixNano":2,"asInt"`},
		{`"timeUnixNano":"2","asInt"`, `"timeUnixNano":"0","asInt"`},
		{`"timeUnixNano":"2","asInt"`, `"timeUnixNano":"3","asInt"`},
		{`"timeUnixNano":"2","asInt"`, `"timeUnixNano":"2","timeUnixNano":"2","asInt"`},
		{`"startTimeUnixNano":"1","timeUnixNano":"2","asInt"`, `"timeUnixNano":"2","asInt"`},
		{`"startTimeUnixNano":"1","timeUnixNano":"2","asInt"`, `"startTimeUnixNano":"3","timeUnixNano":"2","asInt"`},
		{`{"timeUnixNano":"2","asDouble"`, `{"startTimeUnixNano":"1","timeUnixNano":"2","asDouble"`},
		{`"asInt":"3"`, `"asInt":3`},
		{`"asInt":"3"`, `"asInt":"9223372036854775808"`},
		{`"asInt":"3"`, `"asInt":"03"`},
		{`"asInt":"3"`, `"asInt":"3","asDouble":3`},
		{`"asInt":"3"`, `"asString":"3"`},
		{`"asInt":"3"`, `"asInt":"3","flags":1`},
		{`"asInt":"3"`, `"flags":2`},
		{`,"asInt":"3"`, ``},
		{`"NaN"`, `NaN`},
		{`"NaN"`, `"nan"`},
		{`"NaN"`, `"1"`},
		{`"sum":{"aggregationTemporality":2`, `"sum":{"aggregationTemporality":"AGGREGATION_TEMPORALITY_CUMULATIVE"`},
		{`"sum":{"aggregationTemporality":2`, `"sum":{"aggregationTemporality":1`},
		{`"sum":{"aggregationTemporality":2,`, `"sum":{`},
		{`"isMonotonic":true,`, ``},
		{`"isMonotonic":true`, `"isMonotonic":false`},
		{`"unit":"KiBy/s"`, `"unit":"KByte/s"`},
		{`"unit":"KiBy/s"`, `"unit":"k{count}"`},
		{`"name":"g"`, `"name":"c"`},
		{`"name":"g"`, `"name":""`},
		{`"name":"g"`, `"name":"g","metadata":[],"x":1`},
		{`"gauge":{"dataPoints":[`, `"gauge":{"isMonotonic":true,"dataPoints":[`},
		{`"gauge":{`, `"summary":{`},
		{point, ``},
		{point, point + `,` + point},
		{point, point + `,` + strings.NewReplacer(`"x"`, `"y"`, `"asInt":"3"`, `"asDouble":3`).Replace(point)},
		{`"key":"a"`, `"key":"instid"`},
		{`"key":"a"`, `"key":""`},
		{`{"intValue":"1"}`, `{"intValue":1}`},
		{`{"intValue":"1"}`, `{"intValue":"1","stringValue":"1"}`},
		{`{"intValue":"1"}`, `{}`},
		{`{"intValue":"1"}`, `"1"`},
		{`["1","2"]`, `["1","2","0"]`},
		{`["1","2"]`, `[1,2]`},
		{`"count":"3"`, `"count":"4"`},
		{`["1","2"],"explicitBounds":[0.5],"count":"3"`, `["1","1","1"],"explicitBounds":[0.5,0.5],"count":"3"`},
		{`"count":"3"`, `"count":"3","sum":"4"`},
		{`"count":"3"`, `"count":"3","sum":-4`},
		{`"count":"3"`, `"count":"3","sum":"NaN"`},
		{`[0.5],"count":"3"`, `[-0.5],"count":"3","sum":4`},
		{`"count":"3"`, `"count":"3","flags":1`},
		{`["1","2"],"explicitBounds":[0.5],"count":"3"`, `["0","0"],"explicitBounds":[0.5],"count":"0","sum":0,"flags":1`},
		{`"key":"service.name"`, `"key":"service"`},
		{`{"name":"n","version":"1"}`, `{"version":"1"}`},
		{`{"name":"n","version":"1"}`, `{"name":"n","version":1}`},
		{`{"resourceMetrics":[`, `{"resourceMetrics":[{},`},
		{`"scopeMetrics":[`, `"scopeMetrics":[{},`},
		{`"d"`, "\"\xff\""},
		{good, good + good},
		{good, ``},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		if _, err := decode([]byte(bad)); bad == good || err == nil {
			t.Errorf("%s in place of %s is taken", change[1], change[0])
		}
	}
}
