package main

import (
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pmapi/export"
)

// Package sending has the tests of the program as a whole.
func TestLabels(t *testing.T) {
	if err := checkLabels([]export.Label{{Name: "site", Value: "north"}, {Name: "_a1"}}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"a.b", "1a", "__name__", "ü", "a b"} {
		if err := checkLabels([]export.Label{{Name: name, Value: "x"}}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
