package collector

import (
	"encoding/binary"
	"errors"
	"strings"
)

// The types of PDUs that ask pmdaroot for the name of a container's host.
const (
	rootHostname      = 0x9001
	rootHostnameReply = 0x9002
)

// maxContainerName is how long the name of a container may be, without the NUL that goes with it.
const maxContainerName = 255

const rootContainerLen = 8 // of the body without the name

// rootContainerBody is the body of a request about a container:
//
//	16  int32  process, 0 in requests
//	20  int32  length of the name with its NUL
//	24  bytes  name, not padded
func rootContainerBody(name string) ([]byte, error) {
	if name == "" || len(name) > maxContainerName || strings.ContainsRune(name, 0) {
		return nil, errors.New("this cannot be the name of a container")
	}
	b := make([]byte, rootContainerLen, rootContainerLen+len(name)+1)
	binary.NativeEndian.PutUint32(b[4:], uint32(len(name)+1))
	return append(append(b, name...), 0), nil
}

// parseRootContainer is the process and the text in the body of a reply about a container, which may end with a NUL.
func parseRootContainer(body []byte) (pid int32, text string, err error) {
	if len(body) < rootContainerLen {
		return 0, "", errors.New("the reply of pmdaroot is too short")
	}
	n := binary.NativeEndian.Uint32(body[4:])
	if uint64(n) > uint64(len(body)-rootContainerLen) {
		return 0, "", errors.New("the reply of pmdaroot has no such long text")
	}
	text, _, _ = strings.Cut(string(body[rootContainerLen:rootContainerLen+int(n)]), "\x00")
	return int32(binary.NativeEndian.Uint32(body)), text, nil
}
