package pmlogger

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// Only with -N does the program notify the service manager.
func TestNotify(t *testing.T) {
	socket := filepath.Join(pcptest.ShortDir(t), "n")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	var b strings.Builder
	for _, on := range []bool{false, true} {
		(&program{opts: &options{notify: on}, w: &b}).notify(map[bool]string{true: "READY=1"}[on])
	}
	got := make([]byte, 100)
	n, err := l.Read(got)
	if err != nil || string(got[:n]) != "READY=1" || b.Len() > 0 {
		t.Errorf("%q %v, log %q", got[:n], err, b.String())
	}
}
