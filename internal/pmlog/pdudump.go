package pmlog

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// DumpPDU is what PCP's programs print of a PDU with the debug option pdu: that it was sent (out)
// or received by a descriptor, and its words, those of the header as numbers and those of the body
// as this machine reads them.
func DumpPDU(out bool, fd int, h pdu.Header, body []byte) string {
	var b strings.Builder
	if out {
		fmt.Fprintf(&b, "[%d]pmXmitPDU: %v fd=%d len=%d", os.Getpid(), h.Kind, fd, h.Len)
	} else {
		fmt.Fprintf(&b, "[%d]pmGetPDU: %v fd=%d len=%d from=%d", os.Getpid(), h.Kind, fd, h.Len, h.From)
	}
	words := []uint32{uint32(h.Len), uint32(h.Kind), uint32(h.From)}
	for rest := body; len(rest) > 0; {
		word := [4]byte{'~', '~', '~', '~'} // with which PCP completes the last one
		rest = rest[copy(word[:], rest):]
		words = append(words, binary.NativeEndian.Uint32(word[:]))
	}
	for i, w := range words {
		if i%8 == 0 {
			fmt.Fprintf(&b, "\n%03d: ", i)
		}
		fmt.Fprintf(&b, "%8x ", w)
	}
	b.WriteByte('\n')
	return b.String()
}
