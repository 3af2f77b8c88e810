package sample_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEndClient checks the counts of clients. A client without requests does not count.
func TestEndClient(t *testing.T) {
	const script = `
		client 2
		fetch 122 123 124 125 43
		client 0
		fetch 122 123 124 125 43
		end 2
		end 5
		fetch 122 123 124 125 43
		client 2
		fetch 122 123 124 125 43
		end 0
		end 2
		client 1
		fetch 122 123 124 125 43`
	want := `> client 2
> fetch 122 123 124 125 43
  0.122: 0 3
  0.123: 0 1
  0.124: 0 1
  0.125: 0 0
  0.43: 0 3
> client 0
> fetch 122 123 124 125 43
  0.122: 0 3
  0.123: 0 2
  0.124: 0 2
  0.125: 0 0
  0.43: 0 3
> end 2
> end 5
> fetch 122 123 124 125 43
  0.122: 0 3
  0.123: 0 1
  0.124: 0 2
  0.125: 0 1
  0.43: 0 5
> client 2
> fetch 122 123 124 125 43
  0.122: 0 3
  0.123: 0 2
  0.124: 0 3
  0.125: 0 1
  0.43: 0 3
> end 0
> end 2
> client 1
> fetch 122 123 124 125 43
  0.122: 0 3
  0.123: 0 1
  0.124: 0 4
  0.125: 0 3
  0.43: 0 3
`
	if diff := cmp.Diff(want, playHere(t, script)); diff != "" {
		t.Errorf("replies (-want +got):\n%s", diff)
	}
}
