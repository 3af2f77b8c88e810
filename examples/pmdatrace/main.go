// Pmdatrace exports the transactions, points, observations and counters that applications report
// through the trace library, libpcp_trace or package trace. It replaces PCP's agent of the same
// name, under pmcd and over a pipe. The package pmda/pmdatrace is the agent, which any collector
// can contain.
//
//	go build ./examples/pmdatrace
//	install -b pmdatrace /var/lib/pcp/pmdas/trace/    # then run Install there, or restart pmcd
//
// It listens for applications on port 4323 of all IPv4 addresses, unless -I, PCP_TRACE_PORT or
// --address override that.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdatrace"
)

func main() { setUp().daemon.Main() }

// setUp makes the program before its options are known. newAgent makes its agent afterwards.
func setUp() *program {
	p := &program{daemon: pmda.Daemon{
		Agent: &pmda.Agent{Name: "trace", Domain: pmdatrace.Domain}, // for -d
		Log:   "trace.log", PipeOnly: true,
		HelpPath: filepath.Join(cmp.Or(os.Getenv("PCP_PMDAS_DIR"), "/var/lib/pcp/pmdas"), "trace", "help"),
	}}
	p.daemon.Options, p.daemon.Operands, p.daemon.Start = p.flags(), p.newAgent, p.listen
	return p
}

// A program is the agent with its command line.
type program struct {
	daemon  pmda.Daemon
	agent   *pmdatrace.Agent
	options pmdatrace.Options
	access  []string
	address string // where to listen; empty for all IPv4 addresses
	port    string // empty if not given
}

// flags returns the options of pmdatrace(1). -U replaces the option that other agents have.
func (p *program) flags() []pmda.Option {
	o := &p.options
	return []pmda.Option{
		{Short: 'A', Arg: "ACCESS", Help: "host based access control, allow:HOST:MAX or disallow:HOST",
			Set: func(v string) error { p.access = append(p.access, v); return nil }},
		{Short: 'I', Arg: "PORT", Help: "expect programs to connect on given inet port (number/name)",
			Set: func(v string) error { p.port = v; return nil }},
		{Long: "address", Arg: "ADDRESS", Help: "expect programs to connect to this address of the host only",
			Set: func(v string) error { p.address = v; return nil }},
		{Short: 'M', Long: "username", Arg: "USER", Help: `user account to run under (default "pcp")`,
			Set: func(v string) error { p.daemon.User = v; return nil }},
		{Short: 'N', Arg: "BUCKETS", Help: "number of historical data buffers maintained (default 5)",
			Set: func(v string) (err error) { o.Buckets, err = positive("-N", v); return err }},
		{Short: 'T', Arg: "PERIOD", Help: "time over which samples are considered (default 60 seconds)",
			Set: func(v string) (err error) {
				if o.Period, err = pmapi.ParseInterval(v); err != nil {
					err = fmt.Errorf("-T requires a time interval: %w", pcptool.SyntaxError(err))
				}
				return err
			}},
		{Short: 'U', Arg: "UNITS", Help: "export observation values using the given units",
			Set: func(v string) (err error) { o.ObserveUnits, err = units("-U", v); return err }},
		{Short: 'V', Arg: "UNITS", Help: "export counter values using the given units",
			Set: func(v string) (err error) { o.CounterUnits, err = units("-V", v); return err }},
	}
}

func positive(option, v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s requires a positive number, not %q", option, v)
	}
	return n, nil
}

// units parses six numbers: the dimensions of space, time and count, and their scales.
func units(option, v string) (pdu.Units, error) {
	var n []int
	for s := range strings.SplitSeq(v, ",") {
		i, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || i < -8 || i > 15 {
			return 0, fmt.Errorf("%s: %q is no dimension or scale", option, s)
		}
		n = append(n, i)
	}
	if len(n) != 6 {
		return 0, fmt.Errorf("%s requires six numbers separated by commas, not %q", option, v)
	}
	u := pdu.MakeUnits(n[0], n[1], n[2], n[3], n[4], n[5])
	if got := []int{u.DimSpace(), u.DimTime(), u.DimCount(), u.ScaleSpace(), u.ScaleTime(), u.ScaleCount()}; !slices.Equal(got, n) {
		return 0, fmt.Errorf("%s: a number of %q is out of range", option, v)
	}
	return u, nil
}

// newAgent makes the agent after all options have been parsed.
func (p *program) newAgent([]string) (err error) {
	if p.options.Access, err = pmdatrace.ParseAccess(p.access...); err != nil {
		return err
	}
	p.options.Domain = p.daemon.Agent.Domain
	p.agent = pmdatrace.New(p.options)
	p.daemon.Agent = p.agent.PMDA
	return p.agent.PMDA.Err()
}

// listen starts to serve applications.
func (p *program) listen(ctx context.Context) (wait func(), err error) {
	port := cmp.Or(p.port, os.Getenv("PCP_TRACE_PORT"), "4323")
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp4", net.JoinHostPort(p.address, port))
	if err != nil {
		return nil, fmt.Errorf("port for applications: %w", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := p.agent.Serve(ctx, ln); err != nil && !errors.Is(err, context.Canceled) {
			p.agent.PMDA.Log().Error("applications are served no more", slog.Any("err", err))
		}
	}()
	return func() { <-done }, nil
}
