package readme

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestSend runs the commands of the README that send metrics, with a collector, to a receiver of the test.
func TestSend(t *testing.T) {
	commands, _ := shellBlock(t, "go run ./examples/pcp2prometheus")
	port := strconv.Itoa(pcptest.FreePort(t))
	pcptest.Start(t, pcptest.Daemon{Path: pcptest.Build(t, "./examples/pmcd"), Args: []string{"-p", port, "-s", filepath.Join(pcptest.ShortDir(t), "s")},
		Dir: t.TempDir(), Addr: "localhost:" + port, Greets: true})
	var mu sync.Mutex
	var got []string
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		io.Copy(io.Discard, req.Body)
		mu.Lock()
		defer mu.Unlock()
		if text := req.Header.Get("Content-Type") + " " + req.Header.Get("Content-Encoding"); len(got) == 0 || got[len(got)-1] != text {
			got = append(got, text)
		}
	}))
	defer receiver.Close()
	state := filepath.Join(t.TempDir(), "sent")
	for line := range strings.Lines(commands) {
		line, _, _ = strings.Cut(line, " #")
		line = regexp.MustCompile(`go run \./examples/\w+`).ReplaceAllStringFunc(line, func(s string) string {
			return pcptest.Build(t, strings.TrimPrefix(s, "go run "))
		})
		args := strings.Fields(strings.NewReplacer("localhost", "localhost:"+port, "10sec", "10msec -s 2",
			"ARCHIVE", filepath.Join(moduleRoot(t), "examples/pmstat/testdata/archive/host"), "--state sent", "--state "+state).Replace(line))
		out, stderr, status := pcptest.Run(t, nil, "", append(args, "-u", receiver.URL)...)
		if prints := strings.Contains(line, " -o "); status != 0 || prints != json.Valid([]byte(out)) {
			t.Errorf("%s: status %d\n%s%s", line, status, out, stderr)
		}
	}
	want := "application/x-protobuf snappy,application/json ,application/json gzip"
	if text := strings.Join(got, ","); text != want {
		t.Errorf("requests of %s, want %s", text, want)
	}
	if _, err := os.Stat(state); err != nil {
		t.Error(err)
	}
}
