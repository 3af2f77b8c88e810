package wording_test

import (
	"strconv"
	"testing"

	"github.com/pcp-go/pcp/internal/wording"
)

func TestList(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "0", 2: "0, 1", 5: "0, 1, 2, 3, 4", 7: "0, 1, 2, 3, 4 and 2 more"} {
		if got := wording.List(n, strconv.Itoa); got != want {
			t.Errorf("%d elements: %q, want %q", n, got, want)
		}
	}
}
