package pmcdlog

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// Of more hosts than the log remembers it says how many refusals it has left out, and after an hour
// it names hosts again.
func TestManyRefused(t *testing.T) {
	var out bytes.Buffer
	log, _ := New(&out, slog.LevelInfo, true, false)
	l := log.Handler()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	refuse := func(host string) {
		t.Helper()
		out.Reset()
		r := slog.NewRecord(at, slog.LevelWarn, "client refused", 0)
		r.Add("host", host, "slot", 3, "fd", 9, "err", pdu.ErrPermission)
		if err := l.Handle(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	line := func(host string) string { return "access violation from host " + host + "\n" }
	for i := range maxRefused {
		host := fmt.Sprint("host", i)
		if refuse(host); !strings.Contains(out.String(), line(host)) {
			t.Fatalf("%s: %q", host, out.String())
		}
	}
	for _, host := range []string{"host7", "another", "another", "third"} {
		if refuse(host); out.Len() > 0 {
			t.Errorf("%s: %q", host, out.String())
		}
	}
	at = at.Add(refusedTime)
	if refuse("host7"); out.Len() > 0 {
		t.Errorf("one that is known: %q", out.String())
	}
	want := fmt.Sprintf("access violations of more hosts than %d: 3 not logged\n", maxRefused) + line("another")
	if refuse("another"); !strings.HasPrefix(out.String(), want) {
		t.Errorf("an hour later: %q, want %q", out.String(), want)
	}
	if refuse("host7"); !strings.Contains(out.String(), line("host7")) {
		t.Errorf("a host that was forgotten: %q", out.String())
	}
}
