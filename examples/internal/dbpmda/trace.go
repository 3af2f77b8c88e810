package dbpmda

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pdu"
)

// A trace is the debug options that are set. The option pdu prints PDUs; the others are kept for
// status.
type trace struct {
	on    map[string]bool
	print func(format string, args ...any)
}

// setBits sets the options that the bits of a number stand for.
func (t *trace) setBits(bits uint32) {
	for _, name := range pmlog.DebugBits(bits) {
		t.on[name] = true
	}
}

// set sets an option, or clears it if flag begins with "-". It reports whether the option exists.
func (t *trace) set(flag string) bool {
	name, clear := strings.CutPrefix(strings.ToLower(flag), "-")
	if name == "all" {
		t.setAll(!clear)
		return true
	}
	if !slices.Contains(pmlog.DebugNames, name) {
		return false
	}
	t.on[name] = !clear
	return true
}

// setAll sets or clears all options.
func (t *trace) setAll(on bool) {
	for _, name := range pmlog.DebugNames {
		t.on[name] = on
	}
}

// String lists the options.
func (t *trace) String() string {
	var names []string
	for _, name := range pmlog.DebugNames {
		if t.on[name] {
			names = append(names, name)
		}
	}
	switch len(names) {
	case 0:
		return "(none)"
	case len(pmlog.DebugNames):
		return "(all)"
	}
	return strings.Join(names, " ")
}

// pdu prints a PDU if the option pdu is set.
func (t *trace) pdu(a *agent, out bool, h pdu.Header, body []byte) {
	if !t.on["pdu"] {
		return
	}
	peer := fmt.Sprintf("fd=%d", a.inFD)
	if a.dso {
		peer = "in-process"
	} else if out {
		peer = fmt.Sprintf("fd=%d", a.outFD)
	}
	t.print("%s\n", pmlog.FormatPDU(out, peer, h, body))
}
