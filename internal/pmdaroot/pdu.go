package pmdaroot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// A Kind is the type of a PDU. That of a reply is the one after its request's.
type Kind uint32

// The types of PDUs.
const (
	Info       Kind = 0x9000 // from pmdaroot, when a client has connected
	Hostname   Kind = 0x9001 // the name that a container has as a host
	ProcessID  Kind = 0x9003 // its first process
	CgroupName Kind = 0x9005 // its control group
	StartAgent Kind = 0x9007
	StopAgent  Kind = 0x9009
)

const version = 2

// Lengths of PDUs and their parts, in bytes.
const (
	headerLen    = 16
	containerLen = 8    // of the body of a PDU about a container, without the name
	maxPDU       = 8192 // pmdaroot has no longer buffer
)

// MaxContainerName is how long the name of a container may be, without the NUL that goes with it.
const MaxContainerName = 255

// appendPDU appends a request.
func appendPDU(b []byte, kind Kind, body []byte) []byte {
	b = binary.NativeEndian.AppendUint32(b, uint32(kind))
	b = binary.NativeEndian.AppendUint32(b, uint32(headerLen+len(body)))
	b = binary.NativeEndian.AppendUint32(b, 0)
	b = binary.NativeEndian.AppendUint32(b, version)
	return append(b, body...)
}

// A header is that of a PDU.
type header struct {
	kind   Kind
	length int // of the body
	status int32
}

// parseHeader parses the header of a PDU from pmdaroot, of headerLen bytes.
func parseHeader(b []byte) (h header, err error) {
	length := binary.NativeEndian.Uint32(b[4:])
	if length < headerLen || length > maxPDU {
		return header{}, fmt.Errorf("pmdaroot has sent a PDU of %d bytes", length)
	}
	if v := binary.NativeEndian.Uint32(b[12:]); v > version {
		return header{}, fmt.Errorf("pmdaroot has version %d of the protocol, not %d", v, version)
	}
	return header{
		kind:   Kind(binary.NativeEndian.Uint32(b)),
		length: int(length) - headerLen,
		status: int32(binary.NativeEndian.Uint32(b[8:])),
	}, nil
}

var errContainerName = fmt.Errorf("this cannot be the name of a container: %w", pdu.ErrNoContainer)

// containerBody is the body of a request about a container:
//
//	16  int32  process, 0 in requests
//	20  int32  length of the name with its NUL
//	24  bytes  name, not padded
func containerBody(name string) ([]byte, error) {
	if name == "" || len(name) > MaxContainerName || strings.ContainsRune(name, 0) {
		return nil, errContainerName
	}
	b := make([]byte, containerLen, containerLen+len(name)+1)
	binary.NativeEndian.PutUint32(b[4:], uint32(len(name)+1))
	return append(append(b, name...), 0), nil
}

// parseContainer is the process and the text in the body of a reply about a container. The text may
// end with a NUL.
func parseContainer(body []byte) (pid int32, text string, err error) {
	if len(body) < containerLen {
		return 0, "", errors.New("the reply of pmdaroot is too short")
	}
	n := binary.NativeEndian.Uint32(body[4:])
	if uint64(n) > uint64(len(body)-containerLen) {
		return 0, "", errors.New("the reply of pmdaroot has no such long text")
	}
	text, _, _ = strings.Cut(string(body[containerLen:containerLen+int(n)]), "\x00")
	return int32(binary.NativeEndian.Uint32(body)), text, nil
}
