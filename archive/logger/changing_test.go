package logger_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/internal/changing"
)

// TestChangingSource records a source that changes. A metric that differs from the archive is left
// out.
func TestChangingSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := changing.New()
		r := record(t, src.Source, "log mandatory on 1 sec { app.latency app.requests app.queue }\n", logger.Options{})
		r.wait(500 * time.Millisecond)
		for _, step := range changing.Steps() {
			step.Do(src)
			r.wait(time.Second)
		}
		if err := r.stop(0); err != nil {
			t.Error(err)
		}
		want := []string{
			"0s app.queue=0:1,1:2 app.requests=100 app.latency=7",
			"1s app.queue=0:1,1:2 app.requests=110 app.latency=7",
			"1.001s mark",
			"2s app.queue=0:1,1:2 app.requests=120",
			"3s app.queue=0:1,1:2 app.requests=130",
			"4s app.queue=0:1,1:2 app.requests=140",
			"5s app.queue=0:1,1:2 app.requests=150",
			"6s app.queue=0:1,1:2 app.requests=160",
			"7s app.queue=0:1,1:2 app.requests=170",
			"8s app.queue=0:1,1:2 app.requests=180",
			"9s app.queue=1:3,2:4 app.requests=190",
			"10s app.queue=1:3,2:4 app.requests=3",
			"11s app.queue=1:3,2:4 app.requests=13",
			"12s app.queue=1:3,2:4 app.requests=23",
			"12.001s mark", // the clock is set back: there are no records until it is past this time
			"59m15s app.queue=1:3,2:4 app.requests=53",
			"59m16s app.queue=1:3,2:4 app.requests=63",
		}
		if diff := cmp.Diff(want, r.records()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
