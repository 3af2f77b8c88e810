package tool

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// Dial opens a context on a host, usually Source, with the time-outs and ports that the environment sets (see
// pmapi.DialerFromEnv) and the name space of -n or -N. Functions given may change the Dialer before it is used, for instance its
// AutoReconnect. With -D the Dialer logs to Stderr. A setting of the environment that makes no sense is ignored and reported
// on Stderr.
//
// The error is an *ExitError: "Cannot connect to PMCD on host …".
func (c *Command) Dial(ctx context.Context, host string, change ...func(*pmapi.Dialer)) (*pmapi.Context, error) {
	d, err := pmapi.DialerFromEnv()
	if err != nil {
		fmt.Fprintf(c.stderr(), "%s: %v\n", c.Name, err)
	}
	d.Names = c.given.names
	if len(c.Debug) > 0 {
		d.Logger = slog.New(slog.NewTextHandler(c.stderr(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	for _, f := range change {
		f(d)
	}
	pc, err := d.Dial(ctx, host)
	if err == nil {
		return pc, nil
	}
	e := &ExitError{Status: 1, Err: err}
	if _, specErr := pmapi.ParseHost(host); specErr != nil {
		e.Message = specErr.Error() + "\n"
	}
	e.Message += fmt.Sprintf("%s: Cannot connect to PMCD on host \"%s\": %v\n", c.Name, host, pdu.FromError(err))
	return nil, e
}
