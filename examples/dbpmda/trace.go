package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pdu"
)

// A trace is the debug options that are set. The option pdu prints PDUs; the others are kept for status.
type trace struct {
	on    map[string]bool
	print func(format string, args ...any)
}

// setBits sets the options that the bits of a number stand for, which were all of older versions: up to http, and desperate.
func (t *trace) setBits(bits uint32) {
	const desperate = 30
	for i := range slices.Index(pmlog.DebugNames, "http") + 1 {
		if bits&(1<<i) != 0 {
			t.on[pmlog.DebugNames[i]] = true
		}
	}
	if bits&(1<<desperate) != 0 {
		t.on["desperate"] = true
	}
}

// set sets an option, or clears one that begins with "-". It returns false for an option that there is none of.
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

// method prints a call of a method of a shared object, if PDUs are to be printed.
func (t *trace) method(a *agent, name string) {
	if t.on["pdu"] && a.dso {
		t.print("DSO %s()\n", name) // it has no PDUs
	}
}

// pdu prints a PDU, if it is to be: the header, and the words of the body as the machine of PCP's tools would read them.
func (t *trace) pdu(a *agent, out bool, h pdu.Header, body []byte) {
	if !t.on["pdu"] || a.untraced {
		return
	}
	var b strings.Builder
	if out {
		fmt.Fprintf(&b, "[%d]pmXmitPDU: %v fd=%d len=%d", os.Getpid(), h.Kind, a.outFD, h.Len)
	} else {
		fmt.Fprintf(&b, "[%d]pmGetPDU: %v fd=%d len=%d from=%d", os.Getpid(), h.Kind, a.inFD, h.Len, h.From)
	}
	words := []uint32{uint32(h.Len), uint32(h.Kind), uint32(h.From)}
	for rest := body; len(rest) > 0; {
		var word [4]byte
		rest = rest[copy(word[:], rest):]
		words = append(words, binary.NativeEndian.Uint32(word[:]))
	}
	for i, w := range words {
		if i%8 == 0 {
			fmt.Fprintf(&b, "\n%03d: ", i)
		}
		fmt.Fprintf(&b, "%8x ", w)
	}
	t.print("%s\n", b.String())
}
