package pmapi_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// TestInteropEventStream compares the records of the sample agent, of both types, with those that
// fetch groups of the C library find. Each side has a separate pmcd, because the next records of
// the agent depend on the number of earlier fetches.
func TestInteropEventStream(t *testing.T) {
	const most = 40
	for _, metric := range []string{"sample.event.records", "sample.event.highres_records"} {
		want := theirEvents(t, metric, most)
		got := ourEvents(t, metric, most)
		missed := 0
		for key, theirs := range want {
			n := min(len(got[key]), len(theirs))
			if len(theirs) > 0 && n == 0 || !slices.Equal(got[key][:n], theirs[:n]) {
				t.Errorf("%s, %s:\n%q in place of\n%q", metric, key, got[key], theirs)
			}
			if key == "fungus event.missed" {
				missed = n
			}
		}
		if missed == 0 {
			t.Errorf("%s: no missed events", metric)
		}
	}
}

var eventFields = []string{"sample.event.type", "sample.event.param_32", "sample.event.param_u64", "sample.event.param_string", "event.flags", "event.missed"}

// theirEvents returns the C library's values of fields, by instance and field.
func theirEvents(t *testing.T, metric string, most int) map[string][]string {
	t.Helper()
	pmcd, _ := realPMCD(t, "pmcd", "sample")
	c := newCGroup(t, pmcd.Host())
	for _, inst := range []string{"bogus", "fungus"} {
		for _, field := range eventFields {
			if code := c.add(testItem{"event", metric, inst, field, "-", pdu.TypeString}); code != 0 {
				t.Fatal(metric, inst, field, code)
			}
		}
	}
	values := map[string][]string{}
	for len(values["bogus sample.event.param_string"]) < most {
		status, results := c.fetch()
		if status != 0 {
			t.Fatal(status)
		}
		for w, r := range results {
			for _, row := range r.Rows {
				values[w.inst+" "+w.field] = append(values[w.inst+" "+w.field], fmt.Sprint(row.Value.V))
			}
		}
	}
	return values
}

// ourEvents returns the same from Context.Events.
func ourEvents(t *testing.T, metric string, most int) map[string][]string {
	t.Helper()
	_, c := realPMCD(t, "pmcd", "sample")
	values := map[string][]string{}
	for e, err := range c.Events(t.Context(), metric, time.Millisecond) {
		if err != nil {
			t.Fatal(err)
		}
		add := func(field string, a pdu.Atom) {
			v, err := pdu.As[string](a)
			if errors.Is(err, pdu.ErrConv) { // a number
				var n int64
				n, err = pdu.As[int64](a)
				v = fmt.Sprint(n)
			}
			if err != nil {
				t.Fatal(err)
			}
			values[e.Instance.Name+" "+field] = append(values[e.Instance.Name+" "+field], v)
		}
		for name, a := range e.Params() {
			if slices.Contains(eventFields, name) {
				add(name, a)
			}
		}
		for _, field := range []string{"event.flags", "event.missed"} {
			if v, err := pmapi.EventValue[uint32](e, field); err == nil {
				add(field, pdu.Uint32(v))
			}
		}
		if len(values["bogus sample.event.param_string"]) >= most {
			break
		}
	}
	return values
}

// TestInteropArchivedEvents compares the records of an archive with those that pmevent prints.
func TestInteropArchivedEvents(t *testing.T) {
	archive := filepath.Join(pcptest.Conf("PCP_VAR_DIR"), "testsuite", "archives", "eventrec")
	pcptest.Need(t, "pmevent", archive+".index")
	out, errs, status := pcptest.Run(t, nil, "", "pmevent", "-a", archive, "sample.event.records")
	if status != 0 {
		t.Fatal(errs)
	}
	var want []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "    ") {
			want = append(want, strings.TrimSpace(line))
		}
	}
	c, err := asPCP6.Open(t.Context(), archive)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var got []string
	for e, err := range c.Events(t.Context(), "sample.event.records", time.Second) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Missed > 0 {
			got = append(got, fmt.Sprintf("==> %d missed event records", e.Missed))
		}
		for name, a := range e.Params() {
			switch a.Type {
			case pdu.TypeString:
				got = append(got, fmt.Sprintf("%s %q", name, a.Bytes()))
			case pdu.TypeAggregate:
				got = append(got, fmt.Sprintf("%s [%x]", name, a.Bytes()))
			default:
				v, err := pdu.As[float64](a)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprintf("%s %.0f", name, v))
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) < 20 {
		t.Errorf("(-C +Go)\n%s", diff)
	}
}
