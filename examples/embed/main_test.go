package main

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// TestEmbed fetches pages from the web server, and from its collector how many it served.
func TestEmbed(t *testing.T) {
	web := fmt.Sprintf("localhost:%d", pcptest.FreePort(t))
	addr := fmt.Sprintf("localhost:%d", pcptest.FreePort(t))
	pcptest.Start(t, pcptest.Daemon{Path: pcptest.Build(t, "./examples/embed"), Args: []string{"-http", web, "-pcp", addr}, Addr: web}) // the last to listen
	get := func(page string) {
		t.Helper()
		r, err := http.Get("http://" + web + page)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if b, err := io.ReadAll(r.Body); err != nil || string(b) != "Welcome to "+page+"\n" {
			t.Errorf("%s: %q, %v", page, b, err)
		}
	}
	c, err := pmapi.Dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ids, err := c.Lookup(t.Context(), []string{"shop.requests", "go.goroutines"})
	if err != nil {
		t.Fatal(err)
	}
	var r pdu.Result
	for i := range 3 {
		get("/")
		get("/order")
		get("/order")
		if err := c.Fetch(t.Context(), ids, &r); err != nil {
			t.Fatal(err)
		}
		var got []uint64
		for _, v := range r.At(0).All(pdu.TypeU64) {
			n, err := pdu.As[uint64](v)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, n)
		}
		if want := []uint64{uint64(i + 1), 2 * uint64(i+1)}; !slices.Equal(got, want) {
			t.Errorf("requests are %v, want %v", got, want)
		}
		if s := r.At(1); s.Err() != nil || s.Len() != 1 {
			t.Errorf("%d numbers of goroutines, %v", s.Len(), s.Err())
		}
	}
	if text, err := c.Text(t.Context(), ids[0], pdu.TextOneLine); err != nil || text == "" {
		t.Errorf("help text %q, %v", text, err)
	}
}
