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

// Against our collector: what is printed is what is sent, and the exit status says whether all was taken.
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
	out, stderr, status = pcptest.Run(t, nil, "", program, "-h", host, "-s", "1", "-S", "-o", "pmcd.version")
	if status != 0 || !json.Valid([]byte(out)) || !strings.Contains(out, `"name":"pmcd.version"`) {
		t.Errorf("on standard output: status %d, %q, %q", status, out, stderr)
	}

	var mu sync.Mutex
	var paths []string
	answer := http.StatusOK
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		paths = append(paths, req.URL.Path+" "+req.Header.Get("Content-Encoding"))
		w.WriteHeader(answer)
	}))
	defer receiver.Close()
	env := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + receiver.URL}
	if _, stderr, status = pcptest.Run(t, env, "", program, "-h", host, "-s", "2", "-t", "10msec", "-z", "pmcd.numagents"); status != 0 {
		t.Errorf("sending: status %d, %q", status, stderr)
	}
	if got := strings.Join(paths, ","); got != "/v1/metrics gzip,/v1/metrics gzip" {
		t.Error("requests:", got)
	}
	answer = http.StatusBadRequest
	if _, stderr, status = pcptest.Run(t, env, "", program, "-h", host, "-s", "1", "pmcd.numagents"); status != 1 || !strings.Contains(stderr, "pcp2otlp: 1 points were not taken") {
		t.Errorf("refused: status %d, %q", status, stderr)
	}
}
