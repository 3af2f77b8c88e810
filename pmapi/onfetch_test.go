package pmapi_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda/collector"
)

// TestOnFetch: fetches of the context and of its groups are told, also those that fail, and the
// function may make requests.
func TestOnFetch(t *testing.T) {
	srv := new(collector.Server)
	defer srv.Close()
	pc, err := pmapi.Local(t.Context(), srv)
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	var got []string
	pc.OnFetch(func(ctx context.Context, r *pdu.Result, err error) {
		if err != nil {
			got = append(got, err.Error())
			return
		}
		for _, s := range r.All() {
			name, err := pc.Name(ctx, s.PMID)
			if err != nil {
				t.Error(err)
			}
			got = append(got, name)
		}
	})
	ids, err := pc.Lookup(t.Context(), []string{"pmcd.version"})
	if err != nil {
		t.Fatal(err)
	}
	var r pdu.Result
	if err := pc.Fetch(t.Context(), ids, &r); err != nil {
		t.Fatal(err)
	}
	if err := pc.Fetch(t.Context(), nil, &r); err == nil {
		t.Error("a fetch of nothing succeeds")
	}
	g := pc.Group()
	pmapi.Add[string](g, "pmcd.hostname")
	if _, err := g.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	pc.OnFetch(nil)
	if err := pc.Fetch(t.Context(), ids, &r); err != nil {
		t.Fatal(err)
	}
	want := []string{"pmcd.version", pdu.ErrTooSmall.Error(), "pmcd.hostname"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}
