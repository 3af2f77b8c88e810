// Package pmdaroot is the client's side of the protocol of pmdaroot, PCP's agent of domain 1. It
// runs as the root user, tells agents of the containers of the machine, and starts agents for a
// collector that is not root any more.
//
// A PDU is 32-bit numbers in the byte order of the machine:
//
//	 0  int32   type
//	 4  int32   length
//	 8  int32   status: 0, or in a reply an error of PCP or a negated errno
//	12  int32   version, 2
//	16          body
//
// A [Client] asks for containers; a [Conn] is a connection for any request.
package pmdaroot
