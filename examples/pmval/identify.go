package main

import (
	"context"
	"net"
	"os"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// patience is for how long identify may keep the first sample waiting.
const patience = time.Second

// identify tells the collector who looks at it for so long: those who wonder see it in pmcd.client.whoami. A collector
// that does not want to know is none the worse. The counterpart of pmSetClientIdArgv, but for the name that the address
// has in DNS.
func identify(ctx context.Context, pc *pmapi.Context) {
	ids, err := pc.Lookup(ctx, "pmcd.client.whoami")
	if err != nil {
		return
	}
	host, err := os.Hostname()
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	address := "?"
	if list, err := net.DefaultResolver.LookupHost(ctx, host); err == nil {
		address = list[0]
	}
	var w pdu.ResultWriter
	w.Begin(ids[0])
	w.String(pdu.NoInst, host+" ("+address+") "+strings.Join(os.Args, " "))
	if r, err := w.Result(); err == nil {
		_ = pc.Store(ctx, r)
	}
}
