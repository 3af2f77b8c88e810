package pmlog

import (
	"fmt"

	"github.com/pcp-go/pcp/pdu"
)

// maxDump is how many bytes of a PDU FormatPDU shows at most.
const maxDump = 32

// FormatPDU returns the line that the debug option pdu prints for a PDU: whether it was received or
// sent, its type, the peer, its length and sender, and the first bytes after its header. The peer
// is a host or a file descriptor. Attributes are shown without bytes, since they may be passwords.
func FormatPDU(out bool, peer string, h pdu.Header, body []byte) string {
	way := "Recv"
	if out {
		way = "Xmit"
	}
	if h.Kind == pdu.KindAttr {
		body = nil
	}
	more := ""
	if len(body) > maxDump {
		body, more = body[:maxDump], "..."
	}
	line := fmt.Sprintf("%s: %v PDU, %s, len=%d, from=%d", way, h.Kind, peer, h.Len, h.From)
	if len(body) > 0 {
		line += fmt.Sprintf(", body=%x%s", body, more)
	}
	return line
}
