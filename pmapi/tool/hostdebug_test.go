package tool_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
	"github.com/pcp-go/pcp/pmda/collector"
)

// TestHostDebug: the options context, profile and pdu show how a connection is made and used.
func TestHostDebug(t *testing.T) {
	srv := new(collector.Server)
	defer srv.Close()
	var stderr strings.Builder
	c := &tool.Command{Name: "pmx", Stderr: &stderr}
	c.AddOptions("General options", c.Standard("debug")...)
	if _, err := c.Parse([]string{"-D", "context,profile"}); err != nil {
		t.Fatal(err)
	}
	inServer := func(d *pmapi.Dialer) {
		d.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return srv.DialContext(ctx, network, addr)
		}
	}
	pc, err := c.OpenSource(t.Context(), pmapi.SourceHost, "unix:///run/x", inServer)
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	ids, err := pc.Lookup(t.Context(), []string{"pmcd.version"})
	if err != nil {
		t.Fatal(err)
	}
	if err := pc.AddProfile(pdu.MakeInDom(30, 2), 100, 300); err != nil {
		t.Fatal(err)
	}
	if err := pc.Fetch(t.Context(), ids, new(pdu.Result)); err != nil {
		t.Fatal(err)
	}
	// The features are those of the collector's first PDU.
	got := stderr.String()
	_, features, _ := strings.Cut(got, "features=")
	features, _, _ = strings.Cut(features, "\n")
	_, datum, _ := strings.Cut(got, "datum=")
	datum, _, _ = strings.Cut(datum, ",")
	want := `__pmSetSocketIPC: fd=3
IPC table fd(PDU version):
__pmDecodeXtendError: got error PDU (code=0, datum=` + datum + `, version=2)
__pmSetFeaturesIPC: fd=3 version=2 features=` + features + `
IPC table fd(PDU version): 3(2,1)
__pmSendCreds: #0 = 1020000
__pmConnectPMCD(/run/x): pmcd connection path=/run/x fd=3 PDU version=2
IPC table fd(PDU version): 3(2,1)
pmNewContext(1, unix:///run/x) -> 0
Dump Contexts: current -> contexts[0] handle 0
contexts[0] handle 0: host /run/x: pmcd=CONNECTED profile=NOT_SENT fd=3 origin=0.000000000 delta=0.000000000
Dump Instance Profile state=INCLUDE, 0 profiles
pmFetch: calling __pmSendProfile, context: 0 slot: 0
Dump Instance Profile state=INCLUDE, 1 profiles
	Profile [0] indom=125829122 [30.2] state=EXCLUDE 2 instances
		Instances: [100] [300]
`
	if diff := cmp.Diff(want, got); diff != "" || features == "0" {
		t.Errorf("output (-want +got)\n%s", diff)
	}
}
