package tool

import (
	"fmt"

	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// derivedDebug makes what is done with derived metrics be printed, if the debug option derive is on, and expressions with appl0,
// appl1 and appl2.
func (c *Command) derivedDebug() {
	if len(c.Debug) == 0 {
		return
	}
	on := pmlog.DebugOn(c.Debug)
	if !on["derive"] {
		return
	}
	for i, name := range []string{"event.flags", "event.missed"} { // those of the C library itself
		fmt.Fprintf(c.stderr(), "pmRegisterDerived: global metric[%d] %s = anon(PM_TYPE_U32)\n", i, name)
	}
	c.given.derived.SetDebug(&pmapi.DerivedDebug{
		Writer: debugWriter{c}, Parsed: on["appl0"], Bound: on["appl1"], Computed: on["appl2"],
		Desc: func(d pdu.Desc) string {
			return fmt.Sprintf("    Data Type: %s  InDom: %v 0x%x\n    %s\n", TypeText(d.Type), d.InDom, uint32(d.InDom), SemanticsText(d))
		},
	})
}

// A debugWriter writes to the standard error output that the Command has at the time.
type debugWriter struct{ c *Command }

func (w debugWriter) Write(b []byte) (int, error) { return w.c.stderr().Write(b) }
