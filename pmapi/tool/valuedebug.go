package tool

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// printExtracted prints the values of a fetch in the form in which the C library prints each that a
// program extracts: as values of their own type, since which others a program makes of them is not
// seen here. Events are left out.
func (c *Command) printExtracted(ctx context.Context, pc *pmapi.Context, r *pdu.Result) {
	var b strings.Builder
	for _, s := range r.All() {
		desc, err := pc.Desc(ctx, s.PMID)
		if err != nil || s.Err() != nil || desc.Type == pdu.TypeEvent || desc.Type == pdu.TypeHighResEvent {
			continue
		}
		for i := range s.Len() {
			from, to := extractedText(s.Atom(i, desc.Type))
			fmt.Fprintf(&b, "pmExtractValue:  %s [%v] -> %s [%v]\n", from, desc.Type, to, desc.Type)
		}
	}
	io.WriteString(c.stderr(), b.String())
}

// A longer string is shown up to cutString bytes.
const maxString, cutString = 37, 34

// extractedText is a value as it was received, and as it is extracted.
func extractedText(a pdu.Atom) (from, to string) {
	switch a.Type {
	case pdu.TypeFloat, pdu.TypeDouble:
		v, _ := pdu.As[float64](a)
		from = fmt.Sprintf("%e", v)
	case pdu.TypeString:
		value := a.Bytes()
		more := ""
		if len(value) > maxString {
			value, more = value[:cutString], "..."
		}
		to = fmt.Sprintf("\"%s%s\"", value, more)
		if len(value) == 0 {
			return "<null>", to
		}
		return to, to
	case pdu.TypeAggregate, pdu.TypeAggregateStatic:
		var words bytes.Buffer
		for i, v := range a.Bytes() {
			if i%4 == 0 {
				words.WriteByte(' ')
			}
			fmt.Fprintf(&words, "%02x", v)
		}
		return fmt.Sprintf("[len=%d]%s", len(a.Bytes()), words.Bytes()), fmt.Sprintf("[type=%v len=%d]%s", a.Type, len(a.Bytes()), words.Bytes())
	default:
		from = a.String()
	}
	return from, from
}
