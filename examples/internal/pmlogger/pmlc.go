package pmlogger

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/examples/internal/pcptool/pmlc"
	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
)

// listen opens the logger's ports for pmlc(1) and returns the TCP port. If it fails, the logger
// still records.
func (p *program) listen(ctx context.Context) uint32 {
	other, _ := p.otherPrimary() // whose socket stays that of the primary logger
	o := pmlc.ListenOptions{Dir: p.conf.Get("PCP_RUN_DIR"), Primary: p.opts.primary && other == 0}
	if text := os.Getenv("PMLOGGER_PORT"); text != "" {
		n, ok := scan.WholeInt(text)
		if !ok || n < 0 || n > 65535 {
			fmt.Fprintf(p.w, "GetPorts: ignored bad PMLOGGER_PORT = '%s'\n", text)
			n = 0
		}
		o.Port = int(n)
	}
	if n, ok := scan.WholeInt(os.Getenv("PMLOGGER_LOCAL")); ok && n != 0 {
		o.Local = true
	}
	var err error
	p.serving, p.port, err = pmlc.Listen(ctx, o)
	if err != nil {
		fmt.Fprintf(p.w, "%s: Warning: %v\n", programName, err)
	}
	return uint32(p.port)
}

func (p *program) closeListeners() {
	for _, l := range p.serving {
		l.Close() // again, when they have served
	}
}

// serve answers pmlc(1).
func (p *program) serve(ctx context.Context) {
	if len(p.serving) == 0 {
		return
	}
	s := pmlc.Server{Logger: present{p}, Source: p.source(), Access: p.access, Version: p.opts.protocol,
		Controlled: func(peer net.Addr, request *pmlc.ControlReq, states []logger.MetricState, err error) {
			p.logRequest(ctx, peer, request, states, err)
		}, Log: p.log}
	if err := s.Serve(ctx, p.serving...); err != nil {
		fmt.Fprintf(p.w, "%s: Warning: %v\n", programName, err)
	}
}

// logRequest writes a request of pmlc(1) to the log.
func (p *program) logRequest(ctx context.Context, peer net.Addr, r *pmlc.ControlReq, states []logger.MetricState, failed error) {
	host := pmlc.SocketPath(p.conf.Get("PCP_RUN_DIR"), os.Getpid())
	if a, ok := peer.(*net.TCPAddr); ok {
		host = hostOf(ctx, a)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\npmlc request from %s: %v %v", ctime(time.Now()), host, r.Control, r.State)
	if r.State == logger.On {
		if r.Interval == 0 {
			b.WriteString(" once")
		} else {
			fmt.Fprintf(&b, " %.1f sec", r.Interval.Seconds())
		}
	}
	b.WriteByte('\n')
	for i, t := range r.Targets {
		var state logger.MetricState
		if failed != nil || i >= len(states) {
			state.Err = pdu.ErrGeneric
		} else {
			state = states[i]
		}
		p.describeTarget(ctx, &b, r, t, state)
	}
	io.WriteString(p.w, terminal.Escape(b.String()))
}

// describeTarget writes the part of a request about one metric.
func (p *program) describeTarget(ctx context.Context, b *strings.Builder, r *pmlc.ControlReq, t logger.Target, state logger.MetricState) {
	note := func(failed bool) string {
		if failed {
			return " [request failed]"
		}
		return ""
	}
	names, err := p.src.Names(ctx, t.PMID)
	if err != nil || len(names) == 0 {
		names = []string{t.PMID.String()}
	}
	states := state.Values
	if len(states) == 1 && states[0].Inst == pdu.NoInst { // of a singular metric
		fmt.Fprintf(b, "  metric: %s%s\n", strings.Join(names, " or "), note(!grants(states[0], r)))
		return
	}
	fmt.Fprintf(b, "  metric: %s%s\n", strings.Join(names, " or "), note(state.Err != nil))
	desc, err := p.src.Desc(ctx, t.PMID)
	for _, i := range states {
		name := fmt.Sprintf("#%d", i.Inst)
		if err == nil && (i.On || i.Mandatory) { // C's program knows the names of what it has requests for
			if n, err := p.src.InstName(ctx, desc.InDom, i.Inst); err == nil {
				name = n
			}
		}
		fmt.Fprintf(b, "    instance: %s%s\n", name, note(!grants(i, r)))
	}
}

// grants reports whether an instance is in the requested state.
func grants(i logger.ValueState, r *pmlc.ControlReq) bool {
	switch r.State {
	case logger.Maybe:
		return !i.Mandatory && i.Interval == 0
	case logger.Off:
		return !i.On && i.Mandatory == (r.Control == logger.Mandatory)
	}
	return i.On && i.Interval == r.Interval && i.Mandatory == (r.Control == logger.Mandatory)
}

// hostOf returns the name of a client's host, or its address.
func hostOf(ctx context.Context, a *net.TCPAddr) string {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	return addressName(ctx, a.IP.String(), a.IP.String())
}
