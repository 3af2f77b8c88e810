package otlp_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pmapi/export/otlp"
)

// fromEnv is FromEnv with variables, each "NAME=value", and no other of OpenTelemetry's.
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
		"EXPORTER_OTLP_METRICS_TIMEOUT=1500", "METRIC_EXPORT_INTERVAL=10000", "RESOURCE_ATTRIBUTES=a=b%2Cc,service.name=x", "SERVICE_NAME=y", "SDK_DISABLED=TRUE",
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
	if r := e.Encoder.Resource; len(r) != 3 || r[0] != (otlp.Attribute{Key: "a", Value: "b,c"}) || r[2] != (otlp.Attribute{Key: "service.name", Value: "y"}) {
		t.Error("resource:", r)
	}
}

// An error names the variable, and has no secret.
func TestFromEnvErrors(t *testing.T) {
	for _, v := range []string{
		"EXPORTER_OTLP_ENDPOINT=localhost:4318", "EXPORTER_OTLP_METRICS_ENDPOINT=grpc://secret@a", "EXPORTER_OTLP_PROTOCOL=grpc", "EXPORTER_OTLP_HEADERS=secret",
		"EXPORTER_OTLP_METRICS_HEADERS=a=secret%zz", "EXPORTER_OTLP_COMPRESSION=zstd", "EXPORTER_OTLP_TIMEOUT=1s", "METRIC_EXPORT_INTERVAL=-1",
		"EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=delta", "RESOURCE_ATTRIBUTES==x", "EXPORTER_OTLP_CERTIFICATE=/no/such/file", "EXPORTER_OTLP_CLIENT_KEY=/no/such/file",
	} {
		name, _, _ := strings.Cut(v, "=")
		if e, err := fromEnv(t, v); err == nil || e != nil || !strings.Contains(err.Error(), "OTEL_"+name) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", v, err)
		}
	}
}
