package proxy

import (
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
)

// A talker is a connection that yields the bytes of says, at most piece at a time, and ignores what
// is written to it.
type talker struct {
	net.Conn
	says  string
	piece int
}

func (c *talker) Read(b []byte) (int, error) {
	if c.says == "" {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), c.piece)], c.says)
	c.says = c.says[n:]
	return n, nil
}

func (c *talker) Write(b []byte) (int, error) { return len(b), nil }

// FuzzGreet: an address comes only from the client's bytes, and the bytes after the greeting are
// left to the collector.
func FuzzGreet(f *testing.F) {
	for _, s := range []string{clientGreeting + "\nweb1 44321\n", clientGreeting + "\n::1 1\nmore", clientGreeting, clientGreeting + "\n\x00 1\n", "p\n\n"} {
		f.Add(s, 1)
		f.Add(s, 1000)
	}
	f.Fuzz(func(t *testing.T, says string, piece int) {
		c, err := peek(&talker{says: says, piece: max(piece, 1)})
		if err != nil {
			return
		}
		host, port, err := greet(c)
		if err != nil {
			return
		}
		if port < 1 || port > 65535 || host == "" || strings.ContainsAny(host, " \n\r\t\x00/") {
			t.Errorf("host %q, port %d", host, port)
		}
		rest, _ := io.ReadAll(c)
		said, digits, _ := strings.Cut(strings.TrimPrefix(says, clientGreeting+"\n"), " ")
		digits, after, _ := strings.Cut(digits, "\n")
		if n, err := strconv.Atoi(digits); said != host || n != port || err != nil || after != string(rest) {
			t.Errorf("host %q, port %d, then %q of %q", host, port, rest, says)
		}
	})
}
