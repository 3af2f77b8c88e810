package pmda_test

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// TestDebugPDU logs each PDU of a session with -D pdu, also if the program has its own option -D.
// The other debug options have no effect.
func TestDebugPDU(t *testing.T) {
	own := ""
	for _, tt := range []struct {
		spec    string
		options []pmda.Option
		logs    bool
	}{
		{"pdu", nil, true},
		{"1", nil, true},
		{"fetch,PDU", nil, true},
		{"pdu", []pmda.Option{{Short: 'D', Long: "debug", Arg: "SPEC", Set: func(v string) error { own = v; return nil }}}, true},
		{"libpmda,attr,auth,context,labels,appl0", nil, false},
		{"0", nil, false},
	} {
		in, toAgent := io.Pipe()
		fromAgent, out := io.Pipe()
		r := run(t, &pmda.Daemon{Agent: clockAgent(), Options: tt.options}, in, out, "-D", tt.spec)
		p := hello(t, pipes{fromAgent, toAgent})
		p.send(7, pdu.Attr{Key: pdu.AttrUsername, Value: []byte("me\x00")})
		p.request(7, pdu.DescReq{PMID: pdu.MakePMID(251, 0, 0)})
		toAgent.Close()
		r.end(0)
		want := ""
		if tt.logs {
			want = line("Debug", "Xmit: CREDS PDU, pipe, len=20, from=PID, body=0000000101020000") +
				line("Debug", "Recv: CREDS PDU, pipe, len=20, from=PID, body=0000000101020000") +
				line("Debug", "Recv: ATTR PDU, pipe, len=19, from=7") +
				line("Debug", "Recv: DESC_REQ PDU, pipe, len=16, from=7, body=3ec00000") +
				line("Debug", "Xmit: DESC PDU, pipe, len=32, from=0, body=3ec00000000000033ec000000000000300000000")
		}
		got := regexp.MustCompile(`(CREDS .* from=)\d+`).ReplaceAllString(plainLog(r.stderr.Take()), "${1}PID")
		if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("-D %s (-want +got):\n%s", tt.spec, diff)
		}
	}
	if own != "pdu" {
		t.Errorf("the program's own option got %q", own)
	}
}
