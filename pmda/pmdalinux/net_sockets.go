package pmdalinux

import (
	"errors"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdalinux/internal/procfile"
)

// socketCounts are the numbers of sockets in a file, which has a line for each.
type socketCounts struct {
	all   uint32
	state [16]uint32 // by the kernel's numbers of states of TCP
}

// errNoSocket is the error of a file with a line that cannot be parsed: the numbers would
// be too low.
var errNoSocket = errors.New("a list of sockets is damaged")

// parse parses a title, then lines like "0: 0100007F:4E02 00000000:0000 0A …", where
// the state is the fourth field.
func (c *socketCounts) parse(text []byte) error {
	*c = socketCounts{}
	if !procfile.HasCompleteLines(text) {
		return errNoSocket
	}
	_, text, _ = procfile.CutLine(text)
	for line := range procfile.Lines(text) {
		for range 3 {
			_, line = procfile.CutField(line)
		}
		field, _ := procfile.CutField(line)
		state, ok := procfile.ParseHex(field)
		if !ok || state >= uint64(len(c.state)) {
			return errNoSocket
		}
		c.all++
		c.state[state]++
	}
	return nil
}

// tcpStates are the metrics of TCP sockets, of IPv4 and IPv6, by the kernel's numbers
// of the states.
var tcpStates = []struct {
	state     int
	tcp, tcp6 string
	text      string
}{
	{1, "network.tcpconn.established", "network.tcpconn6.established", "that are connected"},
	{2, "network.tcpconn.syn_sent", "network.tcpconn6.syn_sent", "that have asked for a connection"},
	{3, "network.tcpconn.syn_recv", "network.tcpconn6.syn_recv", "that have been asked for a connection"},
	{4, "network.tcpconn.fin_wait1", "network.tcpconn6.fin_wait1", "closed here, which the other side has not confirmed"},
	{5, "network.tcpconn.fin_wait2", "network.tcpconn6.fin_wait2", "closed here, which the other side has confirmed"},
	{6, "network.tcpconn.time_wait", "network.tcpconn6.time_wait", "closed on both sides that wait for stray packets"},
	{7, "network.tcpconn.close", "network.tcpconn6.close", "without a connection"},
	{8, "network.tcpconn.close_wait", "network.tcpconn6.close_wait", "closed by the other side and not here"},
	{9, "network.tcpconn.last_ack", "network.tcpconn6.last_ack", "closed on both sides that wait for the last confirmation"},
	{10, "network.tcpconn.listen", "network.tcpconn6.listen", "that listen for connections"},
	{11, "network.tcpconn.closing", "network.tcpconn6.closing", "that both sides have closed at the same time"},
}

// addSockets adds the metrics that count sockets by their state.
func (l *linux) addSockets() {
	tcp, tcp6 := &socketCounts{}, &socketCounts{}
	inTCP, inTCP6 := l.fileGroup("proc/net/tcp", tcp.parse), l.fileGroup("proc/net/tcp6", tcp6.parse)
	for _, m := range tcpStates {
		l.addSocketCount(m.tcp, "IPv4 TCP sockets "+m.text, pmda.Item(19, m.state), inTCP, &tcp.state[m.state])
		l.addSocketCount(m.tcp6, "IPv6 TCP sockets "+m.text, pmda.Item(76, m.state), inTCP6, &tcp6.state[m.state])
	}
	udp, udp6 := &socketCounts{}, &socketCounts{}
	inUDP, inUDP6 := l.fileGroup("proc/net/udp", udp.parse), l.fileGroup("proc/net/udp6", udp6.parse)
	l.addSocketCount("network.udpconn.established", "IPv4 UDP sockets bound to one peer", pmda.Item(79, 1), inUDP, &udp.state[1])
	l.addSocketCount("network.udpconn.listen", "IPv4 UDP sockets that take datagrams from anybody", pmda.Item(79, 2), inUDP, &udp.state[7])
	l.addSocketCount("network.udpconn6.established", "IPv6 UDP sockets bound to one peer", pmda.Item(80, 1), inUDP6, &udp6.state[1])
	l.addSocketCount("network.udpconn6.listen", "IPv6 UDP sockets that take datagrams from anybody", pmda.Item(80, 2), inUDP6, &udp6.state[7])
	raw, raw6 := &socketCounts{}, &socketCounts{}
	l.addSocketCount("network.rawconn.count", "IPv4 raw sockets", pmda.Item(77, 1), l.fileGroup("proc/net/raw", raw.parse), &raw.all)
	l.addSocketCount("network.rawconn6.count", "IPv6 raw sockets", pmda.Item(78, 1), l.fileGroup("proc/net/raw6", raw6.parse), &raw6.all)
	u := &unixSocketCounts{}
	g := l.fileGroup("proc/net/unix", u.parse)
	l.addSocketCount("network.unix.datagram.count", "Datagram sockets of the Unix domain", pmda.Item(81, 1), g, &u.datagram)
	l.addSocketCount("network.unix.stream.established", "Stream sockets of the Unix domain that are connected", pmda.Item(81, 2), g, &u.established)
	l.addSocketCount("network.unix.stream.listen", "Stream sockets of the Unix domain that listen, or have no peer", pmda.Item(81, 3), g, &u.listen)
	l.addSocketCount("network.unix.stream.count", "Stream sockets of the Unix domain", pmda.Item(81, 4), g, &u.stream)
}

func (l *linux) addSocketCount(name, text string, id pmda.ItemID, g *pmda.Group, v *uint32) {
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: name, ID: id, Group: g, Units: pdu.UnitCount, Text: text,
		Value: valueOf(v),
	})
}

// unixSocketCounts are the numbers of sockets in /proc/net/unix.
type unixSocketCounts struct{ datagram, stream, established, listen uint32 }

// parse parses a title, then lines like "0000000000000000: 00000002 00000000
// 00010000 0001 01 630 /run/x", where the fifth field is the type and the sixth the
// state. Any program may give its socket a name with newlines in it. So only the first line
// has to have this form, and others that have not are left out.
func (u *unixSocketCounts) parse(text []byte) error {
	*u = unixSocketCounts{}
	if !procfile.HasCompleteLines(text) {
		return errNoSocket
	}
	_, text, _ = procfile.CutLine(text)
	first := true
	for line := range procfile.Lines(text) {
		for range 4 {
			_, line = procfile.CutField(line)
		}
		field, line := procfile.CutField(line)
		kind, ok := procfile.ParseHex(field)
		field, _ = procfile.CutField(line)
		state, known := procfile.ParseHex(field)
		switch {
		case !ok || !known:
			if first {
				return errNoSocket
			}
		case kind == 1: // SOCK_STREAM
			u.stream++
			if state == 1 { // SS_UNCONNECTED
				u.listen++
			}
			if state == 3 { // SS_CONNECTED
				u.established++
			}
		case kind == 2: // SOCK_DGRAM
			u.datagram++
		}
		first = false
	}
	return nil
}
