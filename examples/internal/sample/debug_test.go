package sample_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/sample"
)

// TestDebug has clients that come and go.
func TestDebug(t *testing.T) {
	var out strings.Builder
	debug := &sample.Debug{Writer: &out}
	a := newAgent(t, sample.Options{Debug: debug})
	play(t, a, "client 4\ndesc 4")
	for _, spec := range []string{"appl0,APPL1", "4096", "all"} {
		if err := debug.Set(spec); err != nil {
			t.Errorf("%s: %v", spec, err)
		}
	}
	if err := debug.Set("appl1,nonsense"); err == nil {
		t.Error("it knows the debug option nonsense")
	}
	play(t, a, "client 2\ndesc 4\ndesc 4\nend 2\nend 2\nend 4\nclient 7\nfetch 4\npmid sample.secret.bar\nend 9")
	want := `sample_inc_recv(2) [new context, num_ctx=5]
sample_ctx_end(2) [context is active]
sample_ctx_end(2) [context is unknown, num_ctx=5]
sample_ctx_end(4) [context is active]
sample_inc_recv(7) [new context, num_ctx=8]
sample_ctx_end(9) [context is unknown, num_ctx=8]
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("debug output (-want +got):\n%s", diff)
	}
}
