// Bare is what Go's network stack allows a server at most: a goroutine for each
// connection, one read for each request, one write of a reply that is ready. It
// speaks just enough of the protocol for raw_load to drive it.
//
//	bare -p PORT [-b BYTES]
package main

import (
	"encoding/binary"
	"flag"
	"log"
	"net"
)

func main() {
	port := flag.String("p", "44990", "TCP port on the loopback interface")
	size := flag.Int("b", 44, "bytes of a reply, at least 44")
	flag.Parse()
	ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", *port))
	if err != nil {
		log.Fatal(err)
	}
	reply := result(*size)
	for {
		c, err := ln.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go serve(c, reply)
	}
}

// result is a RESULT with one metric in error, and padding up to a size: the
// load generator looks at nothing but the header.
func result(size int) []byte {
	b := make([]byte, max(size, 44))
	binary.BigEndian.PutUint32(b, uint32(len(b)))
	binary.BigEndian.PutUint32(b[4:], 0x7001)
	return b
}

func serve(c net.Conn, reply []byte) {
	defer c.Close()
	hello := []byte{0, 0, 0, 20, 0, 0, 0x70, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0x0e, 0}
	if _, err := c.Write(hello); err != nil {
		return
	}
	buf := make([]byte, 512)
	have := 0
	for {
		n, err := c.Read(buf[have:])
		if err != nil {
			return
		}
		have += n
		for have >= 12 {
			length := int(binary.BigEndian.Uint32(buf))
			if length < 12 || length > len(buf) {
				return
			}
			if have < length {
				break
			}
			kind := binary.BigEndian.Uint32(buf[4:])
			have = copy(buf, buf[length:have])
			if kind != 0x7003 && kind != 0x7014 {
				continue
			}
			if _, err := c.Write(reply); err != nil {
				return
			}
		}
	}
}
