package report

import (
	"fmt"
	"slices"

	"github.com/pcp-go/pcp/examples/internal/errname"
	"github.com/pcp-go/pcp/pdu"
)

// unnamed are the codes that PCP's Python modules, and so pmrep(1), have no names for.
var unnamed = []pdu.Error{
	pdu.ErrTLS, -12392, pdu.ErrPMDANotReady, pdu.ErrPMDAReady, -12442, -12445, pdu.ErrLogOverlap, pdu.ErrLogHost,
	pdu.ErrLogChangeType, pdu.ErrLogChangeSem, pdu.ErrLogChangeInDom, pdu.ErrLogChangeUnits, pdu.ErrNeedClientCert,
	pdu.ErrRecType, pdu.ErrFeature, pdu.ErrArg,
}

// symbol is the name of a code.
func symbol(code pdu.Error) string {
	for _, c := range errname.All {
		if c.Code == code && !slices.Contains(unnamed, code) {
			return c.Name
		}
	}
	return fmt.Sprint(int32(code))
}
