package webapi_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

// The log names metrics whose names collide once for each source. It omits the attributes of the
// source.
func TestCollisionLog(t *testing.T) {
	src := &pmapitest.Source{}
	for _, name := range []string{"a.b", "a_b"} {
		pmapitest.Add(src, pmapitest.Metric[uint64]{Name: name}).Set(1)
	}
	var log strings.Builder
	g := &webapi.Gateway{Local: sourceOf(src.Context), Log: slog.New(slog.NewTextHandler(&log, nil)),
		Sources: map[string]func(context.Context) (*pmapi.Context, error){"other?password=secret": sourceOf(src.Context)}}
	defer g.Close()
	for range 3 {
		for _, query := range []string{"", "?hostspec=other%3Fpassword%3Dsecret", "?names=a", "?times=true&names=a.b,a_b"} {
			w := httptest.NewRecorder()
			if g.ServeHTTP(w, httptest.NewRequest("GET", "/metrics"+query, nil)); w.Code != 200 {
				t.Errorf("%s: %d %s", query, w.Code, w.Body)
			}
		}
	}
	got := log.String()
	if strings.Count(got, "metrics=a_b\n") != 2 || !strings.Contains(got, "source=localhost") || !strings.Contains(got, "source=other") || strings.Contains(got, "secret") {
		t.Errorf("log:\n%s", got)
	}
}
