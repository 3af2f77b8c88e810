package tool

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// fetchDebug makes a context print what it fetches, if the debug option fetch is on, or pdu for a
// host, and with value each value. h is what other options print of its connection, nil for
// nothing: they are silent about the requests for names that this takes.
func (c *Command) fetchDebug(pc *pmapi.Context, h *hostDebug) {
	if len(c.Debug) == 0 {
		return
	}
	on := pmlog.DebugOn(c.Debug)
	received := h != nil && h.pdus
	if !received && !on["fetch"] && !on["value"] {
		return
	}
	pc.OnFetch(func(ctx context.Context, r *pdu.Result, err error) {
		if err != nil {
			return
		}
		if h != nil {
			h.quiet = true
			defer func() { h.quiet = false }()
		}
		if received {
			c.printResult(ctx, pc, r, "")
		}
		if on["fetch"] {
			c.printResult(ctx, pc, r, "pmFetch returns ...\n"+changesLine(r.Changed))
		}
		if on["value"] {
			c.printExtracted(ctx, pc, r)
		}
	})
}

// printResult prints the values of a fetch as the C library does, below a heading, with the names
// that the source has for metrics and instances.
func (c *Command) printResult(ctx context.Context, pc *pmapi.Context, r *pdu.Result, heading string) {
	var b strings.Builder
	loc := c.Location
	if loc == nil {
		loc = time.Local
	}
	fmt.Fprintf(&b, "%s__pmResult dump from %p timestamp: %d.%09d %s numpmid: %d\n",
		heading, r, r.Time.Unix(), r.Time.Nanosecond(), r.Time.In(loc).Format("15:04:05.000000000"), r.Len())
	for _, s := range r.All() {
		names, err := pc.Names(ctx, s.PMID)
		if err != nil {
			names = []string{"<noname>"}
		}
		fmt.Fprintf(&b, "  %v (%s): ", s.PMID, strings.Join(names, ", "))
		switch err := s.Err(); {
		case err != nil:
			fmt.Fprintf(&b, "%v\n", pdu.FromError(err))
		case s.Len() == 0:
			b.WriteString("No values returned!\n")
		default:
			fmt.Fprintf(&b, "numval: %d valfmt: %d vlist[]:\n", s.Len(), s.Form())
			printValues(ctx, &b, pc, s, loc)
		}
	}
	io.WriteString(c.stderr(), b.String())
}

// changesLine is a line with what has changed in a collector, empty for nothing.
func changesLine(c pdu.Change) string {
	if c == 0 {
		return ""
	}
	var parts []string
	if c&(pdu.ChangeAddAgent|pdu.ChangeRestartAgent|pdu.ChangeDropAgent) != 0 {
		agents := "agent(s)"
		for _, change := range []struct {
			bit  pdu.Change
			text string
		}{{pdu.ChangeAddAgent, " added"}, {pdu.ChangeRestartAgent, " restarted"}, {pdu.ChangeDropAgent, " dropped"}} {
			if c&change.bit != 0 {
				agents += change.text
			}
		}
		parts = append(parts, agents)
	}
	if c&pdu.ChangeLabels != 0 {
		parts = append(parts, "label change")
	}
	if c&pdu.ChangeNames != 0 {
		parts = append(parts, "names change")
	}
	return "PMCD state changes: " + strings.Join(parts, ", ") + "\n"
}

// printValues prints the values of a metric. Those of one without a descriptor are of unknown type.
func printValues(ctx context.Context, b *strings.Builder, pc *pmapi.Context, s pdu.ValueSet, loc *time.Location) {
	desc, err := pc.Desc(ctx, s.PMID)
	if err != nil {
		desc.Type, desc.InDom = pdu.TypeUnknown, pdu.NoInDom
	}
	format := pdu.ValueFormat{Width: 1, Location: loc}
	var text []byte
	for i := range s.Len() {
		text = format.AppendValue(text[:0], s, i, desc.Type)
		inst := s.Inst(i)
		switch name, err := pc.InstName(ctx, desc.InDom, inst); {
		case inst == pdu.NoInst:
			fmt.Fprintf(b, "   value %s\n", text)
		case desc.InDom == pdu.NoInDom || err != nil:
			fmt.Fprintf(b, "    inst [%d or ???] value %s\n", inst, text)
		default:
			fmt.Fprintf(b, "    inst [%d or \"%s\"] value %s\n", inst, name, text)
		}
	}
}
