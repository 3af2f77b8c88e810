package sample_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/sample"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmda"
)

// Attributes are logged while control has the bit, each once.
func TestAttributes(t *testing.T) {
	a := newAgent(t, sample.Options{})
	var log pcptest.LogBuffer
	a.Logger = log.Logger(slog.LevelInfo)
	c := pmda.NewClient(3, 7)
	c.UID = 500
	a.SetClient(c)
	play(t, a, "store 0 32 16777216")
	more := *c
	more.PID = 42
	a.SetClient(&more)
	more2 := more
	more2.User, more2.Container = "somebody", "box"
	a.SetClient(&more2)
	a.EndClient(&more2)
	next := pmda.NewClient(3, 8)
	next.UID, next.GID = 500, 50
	a.SetClient(next)
	play(t, a, "store 0 32 1")
	next2 := *next
	next2.PID = 43
	a.SetClient(&next2)
	var got []string
	for line := range strings.Lines(log.String()) {
		if _, what, ok := strings.Cut(line, "Attribute: "); ok {
			got = append(got, strings.Trim(what, "\"\n"))
		}
	}
	want := []string{"ctx=3 processid=42", "ctx=3 username=somebody", "ctx=3 container=box", "ctx=3 groupid=50", "ctx=3 userid=500"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
