package webapi_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

// Contexts on an archive share its metadata. The archive is opened again only after a time without
// contexts, or if it is replaced.
func TestShared(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "a")
	copyArchive(t, base)
	synctest.Test(t, func(t *testing.T) {
		opened := 0
		open := webapi.Shared(func(ctx context.Context) (*pmapi.Context, error) {
			opened++
			return pmapi.Open(ctx, base)
		})
		context := func() *pmapi.Context {
			t.Helper()
			c, err := open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		check := func(what string, want int) {
			t.Helper()
			if opened != want {
				t.Errorf("%s: opened %d times, want %d", what, opened, want)
			}
		}
		var all []*pmapi.Context
		for range 30 {
			all = append(all, context())
		}
		check("30 contexts", 1)
		time.Sleep(time.Hour)
		context().Close()
		check("after an hour, in which the contexts were open", 1)
		copyArchive(t, base)
		all = append(all, context())
		check("another archive in its place", 2)
		time.Sleep(time.Hour)
		for _, c := range all {
			fetchOne(t, c)
			c.Close()
		}
		time.Sleep(50 * time.Second)
		c := context()
		c.Close()
		check("50 s after the last context", 2)
		time.Sleep(50 * time.Second)
		context().Close()
		check("50 s after that", 2)
		time.Sleep(2 * time.Minute)
		context().Close()
		check("after two minutes without contexts", 3)
		time.Sleep(2 * time.Minute)
	})
}

// copyArchive writes a small archive, and replaces an earlier one.
func copyArchive(t *testing.T, base string) {
	t.Helper()
	for _, suffix := range []string{".0", ".index", ".meta"} {
		data, err := os.ReadFile(filepath.Join("..", "testdata", "derive"+suffix))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(base+".new", data, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(base+".new", base+suffix); err != nil {
			t.Fatal(err)
		}
	}
}

// fetchOne fetches the first metric of a context.
func fetchOne(t *testing.T, c *pmapi.Context) {
	t.Helper()
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
