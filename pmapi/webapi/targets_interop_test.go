package webapi_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

// isMetricName matches the names of metrics, but not expressions.
var isMetricName = regexp.MustCompile(`^[a-z]\w*(\.\w+)+$`)

// TestInteropTargets fetches what the dashboards of Grafana's data source PCP Vector show, from
// pmproxy and from a Gateway that have the derived metrics of PCP's configuration. Metadata, errors
// and the instances with values must be equal. The values change between fetches.
func TestInteropTargets(t *testing.T) {
	text, err := os.ReadFile("testdata/grafana-targets.txt")
	if err != nil {
		t.Fatal(err)
	}
	targets := strings.Split(strings.TrimSpace(string(text)), "\n")
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "linux", "proc"}})
	derived := new(pmapi.Derived)
	if err := derived.LoadEnv(); err != nil {
		t.Fatal(err)
	}
	addr := pcptest.StartPMProxy(t, "PCP_DERIVED_CONFIG="+filepath.Join(pcptest.Conf("PCP_VAR_DIR"), "config", "derived"))
	c, ours := server{url: "http://" + addr, addr: addr}, serve(t, &webapi.Gateway{Allow: []string{"localhost:*"}, Dialer: &pmapi.Dialer{Derived: derived}})
	c.host, ours.host = pmcd.Host(), pmcd.Host()
	want, got := c.targets(t, targets), ours.targets(t, targets)
	valued := 0
	for i, target := range targets {
		if strings.HasSuffix(got[i], " instances []\n") { // pmproxy leaves out the labels of a domain without instances
			got[i] = strings.Replace(got[i], `"device_type":"block",`, "", 1)
			want[i] = strings.Replace(want[i], `"device_type":"block",`, "", 1)
		}
		if diff := cmp.Diff(want[i], got[i]); diff != "" {
			t.Errorf("%s (-pmproxy +ours):\n%s", target, diff)
		}
		if strings.Contains(got[i], " instances [") && !strings.Contains(got[i], " instances []") {
			valued++
		}
	}
	t.Logf("%d targets, %d have values", len(targets), valued)
	if valued < len(targets)/3 {
		t.Errorf("only %d of %d targets have values", valued, len(targets))
	}
}

// targets returns a gateway's replies for each target: its metadata, and which instances have
// values in the second of two fetches.
func (s server) targets(t *testing.T, targets []string) (all []string) {
	t.Helper()
	context := s.open(t, s.hostspec()+"&polltimeout=300")
	at := func(path string) reply { return s.get(t, "/pmapi/"+context+path) }
	without := strings.NewReplacer(`"context":`+context+",", "")
	for i, target := range targets {
		name, said := target, ""
		if !isMetricName.MatchString(target) {
			name = fmt.Sprintf("derived_%d", i)
			r := at("/derive?name=" + name + "&expr=" + url.QueryEscape(target))
			said = fmt.Sprintln(r.status, without.Replace(r.body))
		}
		r := at("/metric?names=" + name)
		said += fmt.Sprintln(r.status, described(t, without.Replace(r.body)))
		if all = append(all, said); r.status != 200 {
			continue
		}
		at("/fetch?names=" + name)
		r = at("/fetch?names=" + name)
		all[i] += fmt.Sprintln(r.status, withValues(t, without.Replace(r.body)))
	}
	return all
}

// described returns metadata without the series and the PMID, which differ between servers.
func described(t *testing.T, body string) string {
	t.Helper()
	var v struct {
		Metrics []map[string]any
		Message string
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		return body
	}
	if len(v.Metrics) == 0 {
		return v.Message
	}
	for _, m := range v.Metrics {
		delete(m, "series") // depends on the number of the context's derived metrics
		delete(m, "pmid")
	}
	b, err := json.Marshal(v.Metrics)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// withValues returns the instances of each metric that have values.
func withValues(t *testing.T, body string) string {
	t.Helper()
	var v struct {
		Values []struct {
			Name      string
			Instances []struct {
				Instance *int
				Value    any
			}
		}
		Message string
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		return body
	}
	var all []string
	for _, m := range v.Values {
		ids := []int{}
		for _, inst := range m.Instances {
			if inst.Instance != nil {
				ids = append(ids, *inst.Instance)
			} else {
				ids = append(ids, -1)
			}
		}
		slices.Sort(ids)
		if strings.HasPrefix(m.Name, "proc.") || strings.HasPrefix(m.Name, "hotproc.") || len(ids) > 64 {
			ids = ids[:min(len(ids), 1)] // processes come and go
		}
		all = append(all, fmt.Sprintf("%s instances %v", m.Name, ids))
	}
	return strings.Join(all, "; ") + v.Message
}
