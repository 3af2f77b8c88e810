package pcptool_test

import (
	"context"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda/collector"
)

// TestDebugPDU prints each PDU of a session with -D pdu. The other debug options have no effect.
func TestDebugPDU(t *testing.T) {
	srv := new(collector.Server)
	defer srv.Close()
	const session = `Recv: ERROR from=0
Xmit: CREDS from=PID
Xmit: PMNS_NAMES from=PID
Recv: PMNS_IDS from=0
`
	line := regexp.MustCompile(`(?m)^(Recv|Xmit): (\w+) PDU, unix:///run/x, len=\d+, from=(\d+), body=[0-9a-f]+(?:\.\.\.)?$`)
	for spec, want := range map[string]string{"pdu": session, "1": session, "context,PDU": session, "context,profile,fetch,pmns": "", "2": ""} {
		var stderr strings.Builder
		c := &pcptool.Command{Name: "pmx", Stderr: &stderr}
		c.AddOptions("General options", c.Standard("debug")...)
		if _, err := c.Parse([]string{"-D", spec}); err != nil {
			t.Fatal(err)
		}
		pc, err := c.OpenSource(t.Context(), pmapi.SourceHost, "unix:///run/x", func(d *pmapi.Dialer) {
			d.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
				return srv.DialContext(ctx, network, addr)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pc.Lookup(t.Context(), []string{"pmcd.version"}); err != nil {
			t.Error(err)
		}
		pc.Close()
		got := line.ReplaceAllString(stderr.String(), "$1: $2 from=$3")
		got = regexp.MustCompile(`from=[1-9]\d*`).ReplaceAllString(got, "from=PID")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-D %s (-want +got):\n%s", spec, diff)
		}
	}
}
