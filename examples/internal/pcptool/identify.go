package pcptool

import (
	"context"
	"net"
	"os"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// identifyTimeout is how long Identify may delay the first sample.
const identifyTimeout = time.Second

// Identify tells the collector the host and the command line of its client. Other clients then see
// them in the metric pmcd.client.whoami. Identify takes at most a second. It ignores that a
// collector lacks the metric or refuses the store. It is the counterpart of pmSetClientIdArgv,
// except that it does not look up the host's name in DNS.
func Identify(ctx context.Context, pc *pmapi.Context, commandLine []string) {
	ids, err := pc.Lookup(ctx, []string{"pmcd.client.whoami"})
	if err != nil {
		return
	}
	host, err := os.Hostname()
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, identifyTimeout)
	defer cancel()
	address := "?"
	if list, err := net.DefaultResolver.LookupHost(ctx, host); err == nil {
		address = list[0]
	}
	var w pdu.ResultWriter
	w.Begin(ids[0])
	w.String(pdu.NoInst, host+" ("+address+") "+strings.Join(commandLine, " "))
	if r, err := w.Result(); err == nil {
		_ = pc.StoreResult(ctx, r)
	}
}
