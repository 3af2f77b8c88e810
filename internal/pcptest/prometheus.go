package pcptest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Prometheus is a running one of the test's own.
type Prometheus struct {
	*Process
	addr string
}

// StartPrometheus runs Prometheus with a configuration and arguments besides those of its files and
// its address. Without Prometheus the test is skipped.
func StartPrometheus(t testing.TB, config string, args ...string) *Prometheus {
	t.Helper()
	program := Optional(t, "prometheus")
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	addr := "127.0.0.1:" + strconv.Itoa(FreePort(t))
	args = append([]string{"--config.file=" + file, "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=" + addr}, args...)
	p := &Prometheus{Start(t, Daemon{Path: program, Args: args, Addr: addr}), addr}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		status, _ := p.get(t, "/-/ready")
		if status == http.StatusOK {
			return p
		}
		if time.Now().After(deadline) {
			t.Fatalf("Prometheus is not ready: %d", status)
		}
	}
}

// URL is where Prometheus is.
func (p *Prometheus) URL() string { return "http://" + p.addr }

// Get is an answer of its API.
func (p *Prometheus) Get(t testing.TB, path string) (status int, text []byte) {
	t.Helper()
	return p.get(t, "/api/v1/"+path)
}

func (p *Prometheus) get(t testing.TB, path string) (status int, text []byte) {
	t.Helper()
	r, err := http.Get(p.URL() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if text, err = io.ReadAll(r.Body); err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, text
}

// A PrometheusSeries is a series that a query has found.
type PrometheusSeries struct {
	Metric map[string]string
	Value  PrometheusSample   // of an instant vector
	Values []PrometheusSample // of a range vector
}

// A PrometheusSample is one of Prometheus' API: a time in seconds since 1970, and a value.
type PrometheusSample struct{ Time, Value float64 }

// UnmarshalJSON reads the API's [time, "value"].
func (s *PrometheusSample) UnmarshalJSON(text []byte) (err error) {
	var value string
	if err = json.Unmarshal(text, &[]any{&s.Time, &value}); err == nil {
		s.Value, err = strconv.ParseFloat(value, 64)
	}
	return err
}

// Query returns the results of a query.
func (p *Prometheus) Query(t testing.TB, query string) []PrometheusSeries {
	t.Helper()
	status, text := p.Get(t, "query?query="+url.QueryEscape(query))
	var answer struct {
		Data struct{ Result []PrometheusSeries }
	}
	if err := json.Unmarshal(text, &answer); err != nil || status != http.StatusOK {
		t.Fatalf("%s: %d %v\n%s", query, status, err, text)
	}
	return answer.Data.Result
}

// Value returns the value of a query that finds one series, otherwise 0.
func (p *Prometheus) Value(t testing.TB, query string) float64 {
	t.Helper()
	found := p.Query(t, query)
	if len(found) != 1 {
		return 0
	}
	return found[0].Value.Value
}

// Complaints are the lines of the log that are warnings or errors, and have a text.
func (p *Prometheus) Complaints(text string) string {
	var b strings.Builder
	for line := range strings.Lines(p.Log()) {
		if strings.Contains(line, text) && (strings.Contains(line, "level=warn") || strings.Contains(line, "level=error")) {
			fmt.Fprint(&b, line)
		}
	}
	return b.String()
}

// StartVictoriaMetrics runs VictoriaMetrics, which has the API of Prometheus. Without
// VictoriaMetrics the test is skipped.
func StartVictoriaMetrics(t testing.TB) *Prometheus {
	t.Helper()
	program := Optional(t, "victoria-metrics")
	addr := "127.0.0.1:" + strconv.Itoa(FreePort(t))
	return &Prometheus{Start(t, Daemon{Path: program, Addr: addr, Args: []string{"-storageDataPath=" + t.TempDir(), "-httpListenAddr=" + addr,
		"-retentionPeriod=100y", "-search.latencyOffset=0s", "-search.disableCache"}}), addr}
}

// Flush lets queries find all samples that VictoriaMetrics has received.
func (p *Prometheus) Flush(t testing.TB) {
	t.Helper()
	if status, text := p.get(t, "/internal/force_flush"); status != http.StatusOK {
		t.Fatalf("flush: %d %s", status, text)
	}
}
