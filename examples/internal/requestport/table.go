package requestport

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/internal/rawconn"
	"github.com/pcp-go/pcp/pdu"
)

// WriteTable writes a table of the ports, including those that could not be opened, in the layout
// of pmcd's log.
func WriteTable(w io.Writer, ports []Port) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "\npmcd: PID = %d, PDU version = %d\n", os.Getpid(), pdu.ProtocolVersion)
	b.WriteString("pmcd request port(s):\n  sts fd   port  family address\n  === ==== ===== ====== =======\n")
	for _, unix := range []bool{true, false} { // the unix socket is the first
		for _, p := range ports {
			if (p.network == "unix") == unix {
				p.writeRows(&b)
			}
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// WriteHint writes where a collector serves, how many agents it has, and a command that shows some
// of its metrics.
func WriteHint(w io.Writer, agents int, listeners []net.Listener) {
	var at []string
	host := ""
	for _, l := range listeners {
		switch a := l.Addr().(type) {
		case *net.TCPAddr:
			at = append(at, a.String())
			if host == "" {
				host = fmt.Sprintf("localhost:%d", a.Port)
				if !a.IP.IsUnspecified() && !a.IP.Equal(net.IPv4(127, 0, 0, 1)) && !a.IP.Equal(net.IPv6loopback) {
					host = a.String()
				}
			}
		default:
			at = append(at, "unix:"+a.String())
			if host == "" {
				host = "unix:" + a.String()
			}
		}
	}
	fmt.Fprintf(w, "pmcd: %d agents, on %s; try: pminfo -h %s -f pmcd.version pmcd.agent.name\n",
		agents, strings.Join(at, " "), host)
}

// writeRows writes a row for each address family of the port.
func (p Port) writeRows(b *bytes.Buffer) {
	families := []string{p.family()}
	if p.network == "tcp" { // pmcd tries both families
		families = []string{"inet", "ipv6"}
	}
	for _, f := range families {
		status, fd := "err", -1
		if p.Listener != nil && f == p.family() {
			status, fd = "ok", rawconn.Descriptor(p.Listener)
		}
		fmt.Fprintf(b, "  %-3s %4d %5s %-6s %s\n", status, fd, p.number(), f, p.name)
	}
}

// family returns the address family of the port in the words of pmcd.
func (p Port) family() string {
	switch p.network {
	case "unix":
		return "unix"
	case "tcp6":
		return "ipv6"
	}
	if a := p.tcpAddr(); a != nil && a.IP.To4() == nil {
		return "ipv6"
	}
	return "inet"
}

// number returns the port number. For port 0 that is the number that the system chose.
func (p Port) number() string {
	if a := p.tcpAddr(); a != nil {
		return strconv.Itoa(a.Port)
	}
	return p.port
}

// tcpAddr returns the address of an open TCP port, nil for another.
func (p Port) tcpAddr() *net.TCPAddr {
	if p.Listener == nil {
		return nil
	}
	a, _ := p.Addr().(*net.TCPAddr)
	return a
}
