package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// What pcp2prometheus does not have: messages on standard output, and what the environment says.
// Package sending has the other tests.
func TestProgram(t *testing.T) {
	port := strconv.Itoa(pcptest.FreePort(t))
	pcptest.Start(t, pcptest.Daemon{Path: pcptest.Build(t, "./examples/pmcd"),
		Args: []string{"-p", port, "-s", filepath.Join(pcptest.ShortDir(t), "s")}, Dir: t.TempDir(), Addr: "localhost:" + port, Greets: true})
	program := pcptest.Build(t, "./examples/pcp2otlp")
	host := "localhost:" + port

	out, stderr, status := pcptest.Run(t, nil, "", program, "-h", host, "-s", "1", "-o", "pmcd.version")
	if status != 1 || out != "" || !strings.Contains(stderr, "no values") {
		t.Errorf("a string alone: status %d, %q, %q", status, out, stderr)
	}
	out, stderr, status = pcptest.Run(t, nil, "", program, "-h", host, "-s", "1", "--strings", "-o", "pmcd.version")
	if status != 0 || !json.Valid([]byte(out)) || !strings.Contains(out, `"name":"pmcd.version"`) {
		t.Errorf("on standard output: status %d, %q, %q", status, out, stderr)
	}

	var mu sync.Mutex
	var paths []string
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		paths = append(paths, req.URL.Path+" "+req.Header.Get("Content-Encoding")+" "+req.Header.Get("A")+req.Header.Get("B"))
	}))
	defer receiver.Close()
	env := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + receiver.URL, "OTEL_EXPORTER_OTLP_HEADERS=a=1,b=2"}
	if _, stderr, status = pcptest.Run(t, env, "", program, "-h", host, "-s", "2", "-t", "10msec", "--gzip", "--header=B: 3", "pmcd.numagents"); status != 0 {
		t.Errorf("sending: status %d, %q", status, stderr)
	}
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(paths, ","); got != "/v1/metrics gzip 13,/v1/metrics gzip 13" {
		t.Error("requests:", got)
	}
	for _, variable := range []string{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_SDK_DISABLED=true"} {
		_, stderr, status := pcptest.Run(t, append(env, variable), "", program, "-h", "localhost:1", "-s", "1")
		if disabled := strings.HasSuffix(variable, "true"); status != map[bool]int{true: 0, false: 1}[disabled] || strings.Contains(stderr, "OTEL_EXPORTER_OTLP_PROTOCOL") == disabled {
			t.Errorf("%s: status %d, %s", variable, status, stderr)
		}
	}
}
