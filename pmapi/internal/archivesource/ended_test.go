package archivesource

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// A countdown is a context that ends when it has been looked at some times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// A request on an archive with very many marks ends soon after its context has ended.
func TestEndOfLongRequest(t *testing.T) {
	base := filepath.Join(t.TempDir(), "marks")
	w, err := archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}}.Create(base)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteMetric(archive.Metric{Names: []string{"a"}, Desc: pdu.Desc{PMID: 1, Type: pdu.Type32, InDom: pdu.NoInDom}}); err != nil {
		t.Fatal(err)
	}
	const marks = 4 * checkEvery
	for i := range marks {
		if err := w.WriteMark(time.Unix(1e9+int64(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	set, err := archive.Open(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	s := New(set, Options{})
	defer s.Close()
	var r pdu.Result
	err = s.Fetch(&countdown{t.Context(), 2}, []pdu.PMID{pdu.EventFlagsPMID}, nil, &r)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the end of the context", err)
	}
}
