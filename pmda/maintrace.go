package pmda

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"

	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/internal/rawconn"
	"github.com/pcp-go/pcp/pdu"
)

// A tracer writes what debug options of a Daemon ask for to its log, in the lines of C agents: pdu
// prints PDUs, libpmda what the agent is and what it receives, attr and auth the attributes of
// clients, context the ends of clients, labels the requests for labels. Any option lets the log
// have what the agent logs at slog.LevelDebug. A nil *tracer writes nothing.
type tracer struct {
	on      map[string]bool
	log     *slog.Logger
	raw     io.Writer // for lines without the date
	program string
	kind    string // of the connection
	in, out int    // its descriptors
}

// newTracer makes the tracer of a command line; nil if no option is set.
func (c *command) newTracer(program string, log *slog.Logger, raw io.Writer) *tracer {
	if len(c.debug) == 0 {
		return nil
	}
	t := &tracer{on: c.debug, log: log, raw: raw, program: program, kind: "pipe to pmcd"}
	switch c.transport {
	case 'i':
		t.kind = "inet connection"
	case '6':
		t.kind = "ipv6 connection"
	case 'u':
		t.kind = "unix connection"
	}
	return t
}

// is reports whether one of the options is on.
func (t *tracer) is(options ...string) bool {
	return t != nil && slices.ContainsFunc(options, func(o string) bool { return t.on[o] })
}

// agent logs what an agent is.
func (t *tracer) agent(a *Agent) {
	if !t.is("libpmda") {
		return
	}
	indoms := map[pdu.InDom]bool{}
	for _, id := range a.Namespace().All() {
		if d, err := a.Desc(context.Background(), &Request{Client: NewClient(0, 0)}, id); err == nil && d.InDom != pdu.NoInDom {
			indoms[d.InDom] = true
		}
	}
	for _, line := range []struct {
		name  string
		value any
	}{{"name", t.program}, {"domain", a.Domain}, {"num metrics", a.Namespace().Len()}, {"num indom", len(indoms)}} {
		t.log.Info(fmt.Sprintf("%-11s = %v", line.name, line.value))
	}
}

// connected notes the descriptors of the connection to the collector, of which pipes have those
// with which the program was started.
func (t *tracer) connected(rw io.ReadWriter) {
	if t == nil {
		return
	}
	t.in, t.out = 0, 1
	if fd := rawconn.Descriptor(rw); fd >= 0 {
		t.in, t.out = fd, fd
	}
	if t.is("libpmda") {
		t.log.Debug(fmt.Sprintf("pmdaConnect: PMDA %s: opened %s, infd = %d, outfd = %d", t.program, t.kind, t.in, t.out))
	}
}

// pdu is what pdu.Conn.Trace calls.
func (t *tracer) pdu(out bool, h pdu.Header, body []byte) {
	fd := t.in
	if out {
		fd = t.out
	}
	if t.is("pdu") {
		io.WriteString(t.raw, pmlog.DumpPDU(out, fd, h, body))
	}
	if !out && h.Kind != pdu.KindCreds && h.Kind != pdu.KindError && t.is("libpmda") {
		t.log.Debug("Received PDU_" + h.Kind.String())
	}
}

// ended logs that a client has gone.
func (t *tracer) ended(client int32) {
	if t.is("context") {
		t.log.Debug(fmt.Sprintf("Received PDU_ERROR (end context %d)", client))
	}
}

// attribute logs an attribute of a client.
func (t *tracer) attribute(client int32, key pdu.Attribute, value string) {
	if t.is("attr", "auth") {
		t.log.Info(fmt.Sprintf("Attribute: ctx=%d %v=%s", client, key, value))
	}
}

// labels logs a request for labels.
func (t *tracer) labels(client int32, of pdu.LabelTarget) {
	if !t.is("labels") {
		return
	}
	target := of.String()
	switch of.Class {
	case pdu.LabelContext:
		target = fmt.Sprintf("context %d", client)
	case pdu.LabelItem:
		target = fmt.Sprintf("item %v", of.PMID())
	case pdu.LabelInDom:
		target = fmt.Sprintf("InDom %v", of.InDom())
	case pdu.LabelInstances:
		target = fmt.Sprintf("InDom %v instance", of.InDom())
	}
	fmt.Fprintf(t.raw, "pmdaLabel: %s labels request\n", target)
}

// A lockedWriter lets several goroutines write, one at a time.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}
