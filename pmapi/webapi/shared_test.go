package webapi_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

// Contexts on an archive share its metadata, however many clients open. The archive is opened again
// after some time, and contexts last longer than that.
func TestShared(t *testing.T) {
	archive := filepath.Join("..", "testdata", "derive")
	synctest.Test(t, func(t *testing.T) {
		opened := 0
		open := webapi.Shared(func(ctx context.Context) (*pmapi.Context, error) {
			opened++
			return pmapi.Open(ctx, archive)
		})
		var all []*pmapi.Context
		for range 30 {
			c, err := open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			all = append(all, c)
		}
		if opened != 1 {
			t.Errorf("30 contexts have opened the archive %d times", opened)
		}
		time.Sleep(2 * time.Minute) // nobody uses it
		for range 20 {
			c, err := open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			c.Close()
			time.Sleep(50 * time.Second)
		}
		if opened != 3 {
			t.Errorf("contexts of 17 minutes have opened the archive %d times, want one more each 10 minutes", opened-1)
		}
		time.Sleep(2 * time.Minute)
		for _, c := range all {
			names, err := c.Traverse(t.Context(), "")
			if err != nil || len(names) == 0 {
				t.Fatalf("%d names, %v", len(names), err)
			}
			ids, err := c.Lookup(t.Context(), names[:1])
			if err != nil {
				t.Fatal(err)
			}
			var r pdu.Result
			if err := c.Fetch(t.Context(), ids, &r); err != nil {
				t.Fatal(err)
			}
		}
	})
}
