package otlp_test

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/tlstest"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/otlp"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// fromEnv calls FromEnv with variables of the form "NAME=value", and no other variables of
// OpenTelemetry.
func fromEnv(t *testing.T, variables ...string) (*otlp.Exporter, error) {
	t.Helper()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
		}
	}
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv("OTEL_"+name, value)
	}
	return otlp.FromEnv()
}

func TestFromEnv(t *testing.T) {
	if e, err := fromEnv(t); err != nil || e.Endpoint != "" || e.Gzip || e.Disabled || e.Timeout != 0 || e.Header != nil {
		t.Errorf("without variables: %+v, %v", e, err)
	}
	for value, want := range map[string]string{
		"EXPORTER_OTLP_ENDPOINT=http://a:4318":          "http://a:4318/v1/metrics",
		"EXPORTER_OTLP_ENDPOINT=https://a/base/":        "https://a/base/v1/metrics",
		"EXPORTER_OTLP_METRICS_ENDPOINT=http://a:4318":  "http://a:4318/",
		"EXPORTER_OTLP_METRICS_ENDPOINT=http://a/b?c=d": "http://a/b?c=d",
	} {
		if e, err := fromEnv(t, value); err != nil || e.Endpoint != want {
			t.Errorf("%s: %+v, %v", value, e, err)
		}
	}
	e, err := fromEnv(t, "EXPORTER_OTLP_HEADERS=Authorization=Basic%20a%3D%3D, x-tenant = 7", "EXPORTER_OTLP_COMPRESSION=gzip", "EXPORTER_OTLP_TIMEOUT=5",
		"EXPORTER_OTLP_METRICS_TIMEOUT=1500", "METRIC_EXPORT_INTERVAL=10000", "RESOURCE_ATTRIBUTES=a%2ec=b%2Cc,service.name=x", "SERVICE_NAME=y", "SDK_DISABLED=TRUE",
		"EXPORTER_OTLP_PROTOCOL=http/json", "EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=Cumulative")
	if err != nil {
		t.Fatal(err)
	}
	if h := e.Header; h.Get("Authorization") != "Basic a==" || h.Get("X-Tenant") != "7" {
		t.Error("headers:", h)
	}
	if !e.Gzip || e.Timeout != 1500*time.Millisecond || e.Interval != 10*time.Second || !e.Disabled {
		t.Errorf("%+v", e)
	}
	if r := e.Resource; len(r) != 3 || r[0] != (export.Label{Name: "a.c", Value: "b,c"}) || r[2] != (export.Label{Name: "service.name", Value: "y"}) {
		t.Error("resource:", r)
	}
}

// TestFromEnvPrecedence: the form of a variable with METRICS has precedence, and an empty variable
// counts as not set.
func TestFromEnvPrecedence(t *testing.T) {
	for what, test := range map[string]struct {
		general, metrics string
		get              func(e *otlp.Exporter) any
		want             [2]any // with the general form alone, and with both
	}{
		"ENDPOINT":    {"http://a", "http://b/x", func(e *otlp.Exporter) any { return e.Endpoint }, [2]any{"http://a/v1/metrics", "http://b/x"}},
		"HEADERS":     {"a=1,b=2", "a=3", func(e *otlp.Exporter) any { return e.Header.Get("a") + e.Header.Get("b") }, [2]any{"12", "3"}},
		"COMPRESSION": {"GZIP", "none", func(e *otlp.Exporter) any { return e.Gzip }, [2]any{true, false}},
		"TIMEOUT":     {"5", "7", func(e *otlp.Exporter) any { return e.Timeout }, [2]any{5 * time.Millisecond, 7 * time.Millisecond}},
		"PROTOCOL":    {"http/protobuf", "HTTP/JSON", func(e *otlp.Exporter) any { return e.JSON }, [2]any{false, true}},
	} {
		general, metrics := "EXPORTER_OTLP_"+what+"="+test.general, "EXPORTER_OTLP_METRICS_"+what+"="
		for i, variables := range [][]string{{general, metrics + " "}, {general, metrics + test.metrics}, {"EXPORTER_OTLP_" + what + "=", metrics + test.metrics}} {
			e, err := fromEnv(t, variables...)
			if err != nil {
				t.Error(err)
			} else if got := test.get(e); got != test.want[min(i, 1)] {
				t.Errorf("%q: %v, want %v", variables, got, test.want[min(i, 1)])
			}
		}
	}
}

func TestFromEnvTimes(t *testing.T) {
	for variables, want := range map[string]time.Duration{
		"":                           0,
		"EXPORTER_OTLP_TIMEOUT=0":    (1<<31 - 1) * time.Millisecond, // no limit
		"METRIC_EXPORT_TIMEOUT=9999": 9999 * time.Millisecond,
		"METRIC_EXPORT_TIMEOUT=0":    0, // the limit of TIMEOUT, 10 s, applies
		"METRIC_EXPORT_TIMEOUT=30000 EXPORTER_OTLP_TIMEOUT=20000": 20 * time.Second,
		"METRIC_EXPORT_TIMEOUT=15000 EXPORTER_OTLP_TIMEOUT=0":     15 * time.Second,
	} {
		if e, err := fromEnv(t, strings.Fields(variables)...); err != nil || e.Timeout != want {
			t.Errorf("%s: %v, %v", variables, e, err)
		}
	}
	if e, err := fromEnv(t, "METRIC_EXPORT_INTERVAL=0", "EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION=explicit_bucket_histogram"); err != nil || e.Interval != 0 {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestFromEnvCertificates: the exporter uses the certificate files of the environment.
func TestFromEnvCertificates(t *testing.T) {
	ca := tlstest.NewCA(t, "authority")
	client := ca.Issue(t, "client", tlstest.Leaf{})
	r := &receiver{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, err := r.RoundTrip(req); err != nil {
			t.Error(err)
		}
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Issue(t, "server", tlstest.Leaf{}).TLS}, ClientCAs: ca.Pool(), ClientAuth: tls.RequireAndVerifyClientCert}
	s.StartTLS()
	defer s.Close()
	files := []string{"CERTIFICATE=" + ca.CertFile, "CLIENT_CERTIFICATE=" + client.CertFile, "CLIENT_KEY=" + client.KeyFile}
	for _, prefix := range []string{"EXPORTER_OTLP_", "EXPORTER_OTLP_METRICS_"} {
		for but := range len(files) + 1 { // leaves out each file in turn, and at last none
			variables := []string{"EXPORTER_OTLP_ENDPOINT=" + s.URL}
			for i, file := range files {
				if i != but {
					variables = append(variables, prefix+file)
				}
			}
			e, err := fromEnv(t, variables...)
			if (err != nil) != (but == 1 || but == 2) { // certificate and key are both required
				t.Errorf("%q: %v", variables, err)
			}
			if err != nil {
				continue
			}
			src := &pmapitest.Source{}
			pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "c"}).Set(1)
			c := src.Context()
			e.Reader, e.Samples = &export.Reader{Context: c}, 1
			ctx, cancel := context.WithCancel(t.Context())
			if but < len(files) {
				cancel() // else it would retry for ever
			}
			if err := e.Run(ctx); err != nil {
				t.Error(err)
			}
			if got := e.Stats().Sent.Points == 1; got != (but == len(files)) {
				t.Errorf("%q: %+v", variables, e.Stats())
			}
			cancel()
			c.Close()
			src.Close()
		}
	}
	for _, err := range r.Errs {
		t.Error(err)
	}
}

// TestFromEnvErrors: an error names the variable, and does not contain a secret.
func TestFromEnvErrors(t *testing.T) {
	for _, v := range []string{
		"EXPORTER_OTLP_ENDPOINT=localhost:4318", "EXPORTER_OTLP_METRICS_ENDPOINT=grpc://secret@a", "EXPORTER_OTLP_PROTOCOL=grpc", "EXPORTER_OTLP_HEADERS=secret",
		"EXPORTER_OTLP_METRICS_HEADERS=a=secret%zz", "EXPORTER_OTLP_COMPRESSION=zstd", "EXPORTER_OTLP_TIMEOUT=1s", "METRIC_EXPORT_INTERVAL=-1",
		"EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=delta", "RESOURCE_ATTRIBUTES==x", "RESOURCE_ATTRIBUTES=a%=x",
		"EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=lowmemory", "EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION=base2_exponential_bucket_histogram", "METRIC_EXPORT_TIMEOUT=soon", "EXPORTER_OTLP_CERTIFICATE=/no/such/file", "EXPORTER_OTLP_CLIENT_KEY=/no/such/file",
	} {
		name, _, _ := strings.Cut(v, "=")
		if e, err := fromEnv(t, v); err == nil || e != nil || !strings.Contains(err.Error(), "OTEL_"+name) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", v, err)
		}
	}
}
