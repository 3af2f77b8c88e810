package pmdalinux

import (
	"errors"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A census counts the sockets in a file, which has a line for each.
type census struct {
	all   uint32
	state [16]uint32 // by the kernel's numbers of states of TCP
}

// errNoSocket is for a file with something in it that cannot be counted: what is
// left would be less than there is.
var errNoSocket = errors.New("a list of sockets is damaged")

// parse reads a title, then lines like "0: 0100007F:4E02 00000000:0000 0A …", where
// the state is the fourth field.
func (c *census) parse(text []byte) error {
	*c = census{}
	if !isWhole(text) {
		return errNoSocket
	}
	_, text, _ = wholeLine(text)
	for line := range wholeLines(text) {
		for range 3 {
			_, line = cutField(line)
		}
		field, _ := cutField(line)
		state, ok := parseHex(field)
		if !ok || state >= uint64(len(c.state)) {
			return errNoSocket
		}
		c.all++
		c.state[state]++
	}
	return nil
}

// parseHex reads a hexadecimal number.
func parseHex(field []byte) (v uint64, ok bool) {
	for _, c := range field {
		switch {
		case v >= 1<<60:
			return 0, false
		case '0' <= c && c <= '9':
			v = v<<4 | uint64(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			v = v<<4 | uint64(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return v, len(field) > 0
}

// addSockets adds the metrics that count sockets by their state.
func (l *linux) addSockets() {
	for _, file := range []struct {
		name, what, prefix string
		cluster            int
	}{
		{"tcp", "IPv4 TCP sockets", "network.tcpconn.", 19},
		{"tcp6", "IPv6 TCP sockets", "network.tcpconn6.", 76},
	} {
		c := &census{}
		g := l.source("proc/net/"+file.name, c.parse)
		for state, m := range []struct{ name, text string }{
			1:  {"established", "that are connected"},
			2:  {"syn_sent", "that have asked for a connection"},
			3:  {"syn_recv", "that have been asked for a connection"},
			4:  {"fin_wait1", "closed here, which the other side has not confirmed"},
			5:  {"fin_wait2", "closed here, which the other side has confirmed"},
			6:  {"time_wait", "closed on both sides that wait for stray packets"},
			7:  {"close", "without a connection"},
			8:  {"close_wait", "closed by the other side and not here"},
			9:  {"last_ack", "closed on both sides that wait for the last confirmation"},
			10: {"listen", "that listen for connections"},
			11: {"closing", "that both sides have closed at the same time"},
		} {
			if m.name != "" {
				l.addSocketCount(file.prefix+m.name, file.what+" "+m.text, pmda.Item(file.cluster, state), g, &c.state[state])
			}
		}
	}
	for _, file := range []struct {
		name, what, prefix string
		cluster            int
	}{
		{"udp", "IPv4 UDP sockets", "network.udpconn.", 79},
		{"udp6", "IPv6 UDP sockets", "network.udpconn6.", 80},
	} {
		c := &census{}
		g := l.source("proc/net/"+file.name, c.parse)
		l.addSocketCount(file.prefix+"established", file.what+" bound to one peer", pmda.Item(file.cluster, 1), g, &c.state[1])
		l.addSocketCount(file.prefix+"listen", file.what+" that take datagrams from anybody", pmda.Item(file.cluster, 2), g, &c.state[7])
	}
	raw, raw6 := &census{}, &census{}
	l.addSocketCount("network.rawconn.count", "IPv4 raw sockets", pmda.Item(77, 1), l.source("proc/net/raw", raw.parse), &raw.all)
	l.addSocketCount("network.rawconn6.count", "IPv6 raw sockets", pmda.Item(78, 1), l.source("proc/net/raw6", raw6.parse), &raw6.all)
	u := &unixCensus{}
	g := l.source("proc/net/unix", u.parse)
	l.addSocketCount("network.unix.datagram.count", "Datagram sockets of the Unix domain", pmda.Item(81, 1), g, &u.datagram)
	l.addSocketCount("network.unix.stream.established", "Stream sockets of the Unix domain that are connected", pmda.Item(81, 2), g, &u.established)
	l.addSocketCount("network.unix.stream.listen", "Stream sockets of the Unix domain that listen, or have no peer", pmda.Item(81, 3), g, &u.listen)
	l.addSocketCount("network.unix.stream.count", "Stream sockets of the Unix domain", pmda.Item(81, 4), g, &u.stream)
}

func (l *linux) addSocketCount(name, text string, id pmda.ItemID, g *pmda.Group, v *uint32) {
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: name, ID: id, Group: g, Units: pdu.UnitCount, Text: text,
		Value: single(v),
	})
}

// A unixCensus counts the sockets in /proc/net/unix.
type unixCensus struct{ datagram, stream, established, listen uint32 }

// parse reads a title, then lines like "0000000000000000: 00000002 00000000
// 00010000 0001 01 630 /run/x", where the fifth field is the type and the sixth the
// state. What is no such line is the rest of a name with ends of lines in it, which
// every program may give its socket: only the first has to be one.
func (u *unixCensus) parse(text []byte) error {
	*u = unixCensus{}
	if !isWhole(text) {
		return errNoSocket
	}
	_, text, _ = wholeLine(text)
	first := true
	for line := range wholeLines(text) {
		for range 4 {
			_, line = cutField(line)
		}
		field, line := cutField(line)
		kind, ok := parseHex(field)
		field, _ = cutField(line)
		state, known := parseHex(field)
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
