package main

import (
	"strings"
	"testing"

	"github.com/pcp-go/pcp/examples/internal/sending"
	"github.com/pcp-go/pcp/pmapi/export/remotewrite"
)

// Package sending has the tests of the program as a whole.
func TestLabels(t *testing.T) {
	all, err := labels(&sending.Options{Labels: []sending.Label{{Name: "site", Value: "north"}, {Name: "_a1"}}})
	if err != nil || len(all) != 2 || all[0] != (remotewrite.Label{Name: "site", Value: "north"}) || all[1] != (remotewrite.Label{Name: "_a1"}) {
		t.Errorf("%v, %v", all, err)
	}
	for _, name := range []string{"a.b", "1a", "__name__", "ü", "a b"} {
		if _, err := labels(&sending.Options{Labels: []sending.Label{{Name: name, Value: "x"}}}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
