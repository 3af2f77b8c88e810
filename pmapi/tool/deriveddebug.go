package tool

import (
	"fmt"

	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// derivedDebug makes what is done with derived metrics be printed, if the debug option derive is
// on, and expressions with appl0, appl1 and appl2.
func (c *Command) derivedDebug() {
	if !c.tracesDerived() {
		return
	}
	on := pmlog.DebugOn(c.Debug)
	c.given.derived.SetDebug(&pmapi.DerivedDebug{
		Writer: debugWriter{c}, Parsed: on["appl0"], Bound: on["appl1"], Computed: on["appl2"],
		Desc: func(d pdu.Desc) string {
			if d.Type == pdu.TypeNoSupport {
				return "    Data Type: " + TypeText(d.Type) + "\n"
			}
			return fmt.Sprintf("    Data Type: %s  InDom: %v 0x%x\n    %s\n", TypeText(d.Type), d.InDom, uint32(d.InDom), SemanticsText(d))
		},
	})
}

// tracesDerived reports whether the debug option derive is on.
func (c *Command) tracesDerived() bool { return len(c.Debug) > 0 && pmlog.DebugOn(c.Debug)["derive"] }

// A debugWriter writes to the standard error output that the Command has at the time.
type debugWriter struct{ c *Command }

func (w debugWriter) Write(b []byte) (int, error) { return w.c.stderr().Write(b) }
