package pmlog

import (
	"fmt"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// DumpAttr is what PCP's programs print of an attribute of n bytes with the debug option attr. Text
// is what may be seen of them.
func DumpAttr(call string, key pdu.Attribute, n int, text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '.'
		}
		return r
	}, text)
	if key == pdu.AttrNone {
		return fmt.Sprintf("%s [len=%d]: payload=\"%s\"\n", call, n, text)
	}
	return fmt.Sprintf("%s [len=%d]: attr=0x%x value=\"%s\"\n", call, n, int32(key), text)
}
