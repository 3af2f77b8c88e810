package pmdalinux

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
	"github.com/pcp-go/pcp/pmda/pmdalinux/internal/sockdiag"
)

// A socketList is a list of sockets in /proc/net that the agent counts. On this machine the counts
// come from netlink, which is faster, and from the file only if netlink fails.
type socketList struct {
	file  *procfile.File
	parse func(text []byte) error // counts the sockets of the file
	count func() error            // counts them through netlink; nil if there is only the file
	retry time.Time               // when to try netlink again after an error
}

// retryNetlink is the time between attempts after netlink has failed. The kernel may look for a
// module at each attempt.
const retryNetlink = time.Minute

// socketList makes a list, and the group that counts.
func (l *linux) socketList(name string, parse func(text []byte) error, count func() error) (*socketList, *pmda.Group) {
	s := &socketList{file: l.file("proc/net/" + name), parse: parse}
	if l.isMachine() { // netlink knows only this machine's sockets
		s.count = count
	}
	return s, l.Group(s.refresh)
}

// refresh counts the sockets. Without the file, as in a kernel without IPv6, the count is 0.
func (s *socketList) refresh(context.Context, *pmda.Request) error {
	if err := s.file.Open(); err != nil {
		return absent(err)
	}
	if s.count != nil && (s.retry.IsZero() || time.Now().After(s.retry)) {
		if s.count() == nil {
			s.retry = time.Time{}
			return nil
		}
		s.retry = time.Now().Add(retryNetlink)
	}
	text, err := s.file.Read()
	if err != nil {
		return absent(err)
	}
	return s.parse(text)
}

// inetSockets are the sockets of a family and protocol of the Internet.
type inetSockets struct {
	diag   sockdiag.Counter
	counts sockdiag.Counts
}

func (s *inetSockets) count() (err error) {
	s.counts, err = s.diag.Count()
	return err
}

// inetSocketList makes a list of sockets that netlink also lists.
func (l *linux) inetSocketList(name string, family, protocol uint8) (*sockdiag.Counts, *pmda.Group) {
	s := &inetSockets{diag: sockdiag.Counter{Family: family, Protocol: protocol}}
	_, g := l.socketList(name, s.parse, s.count)
	return &s.counts, g
}

// errNoSocket is the error for a file with a malformed line, which would make the counts too low.
var errNoSocket = errors.New("malformed list of sockets")

// parse parses a title and then lines like "0: 0100007F:4E02 00000000:0000 0A …". The fourth field
// is the state.
func (s *inetSockets) parse(text []byte) error {
	s.counts = sockdiag.Counts{}
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
		if !ok || state >= sockdiag.States {
			return errNoSocket
		}
		s.counts.Add(int(state))
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
	tcp, inTCP := l.inetSocketList("tcp", syscall.AF_INET, syscall.IPPROTO_TCP)
	tcp6, inTCP6 := l.inetSocketList("tcp6", syscall.AF_INET6, syscall.IPPROTO_TCP)
	for _, m := range tcpStates {
		l.addSocketCount(m.tcp, "IPv4 TCP sockets "+m.text, pmda.Item(19, m.state), inTCP, &tcp.State[m.state])
		l.addSocketCount(m.tcp6, "IPv6 TCP sockets "+m.text, pmda.Item(76, m.state), inTCP6, &tcp6.State[m.state])
	}
	udp, inUDP := l.inetSocketList("udp", syscall.AF_INET, syscall.IPPROTO_UDP)
	udp6, inUDP6 := l.inetSocketList("udp6", syscall.AF_INET6, syscall.IPPROTO_UDP)
	l.addSocketCount("network.udpconn.established", "IPv4 UDP sockets bound to one peer", pmda.Item(79, 1), inUDP, &udp.State[1])
	l.addSocketCount("network.udpconn.listen", "IPv4 UDP sockets that take datagrams from anybody", pmda.Item(79, 2), inUDP, &udp.State[7])
	l.addSocketCount("network.udpconn6.established", "IPv6 UDP sockets bound to one peer", pmda.Item(80, 1), inUDP6, &udp6.State[1])
	l.addSocketCount("network.udpconn6.listen", "IPv6 UDP sockets that take datagrams from anybody", pmda.Item(80, 2), inUDP6, &udp6.State[7])
	// Few kernels list raw sockets through netlink, and machines have few of them.
	raw, raw6 := &inetSockets{}, &inetSockets{}
	l.addSocketCount("network.rawconn.count", "IPv4 raw sockets", pmda.Item(77, 1), l.fileGroup("proc/net/raw", raw.parse), &raw.counts.All)
	l.addSocketCount("network.rawconn6.count", "IPv6 raw sockets", pmda.Item(78, 1), l.fileGroup("proc/net/raw6", raw6.parse), &raw6.counts.All)
	u := &unixSockets{}
	_, g := l.socketList("unix", u.parse, u.count)
	l.addSocketCount("network.unix.datagram.count", "Datagram sockets of the Unix domain", pmda.Item(81, 1), g, &u.counts.Datagram)
	l.addSocketCount("network.unix.stream.established", "Stream sockets of the Unix domain that are connected", pmda.Item(81, 2), g, &u.counts.Connected)
	l.addSocketCount("network.unix.stream.listen", "Stream sockets of the Unix domain that listen, or have no peer", pmda.Item(81, 3), g, &u.counts.Unconnected)
	l.addSocketCount("network.unix.stream.count", "Stream sockets of the Unix domain", pmda.Item(81, 4), g, &u.counts.Stream)
}

func (l *linux) addSocketCount(name, text string, id pmda.ItemID, g *pmda.Group, v *uint32) {
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: name, ID: id, Group: g, Units: pdu.UnitCount, Text: text,
		Value: valueOf(v),
	})
}

// unixSockets are the sockets of the Unix domain.
type unixSockets struct {
	diag   sockdiag.UnixCounter
	counts sockdiag.UnixCounts
}

func (u *unixSockets) count() (err error) {
	u.counts, err = u.diag.Count()
	return err
}

// parse parses a title and then lines like "0000000000000000: 00000002 00000000 00010000 0001 01
// 630 /run/x". The fifth field is the type and the sixth the state. Any program may give its socket
// a name with newlines. Therefore only the first line must have this form, and other malformed
// lines are skipped.
func (u *unixSockets) parse(text []byte) error {
	u.counts = sockdiag.UnixCounts{}
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
			u.counts.Stream++
			if state == 1 { // SS_UNCONNECTED
				u.counts.Unconnected++
			}
			if state == 3 { // SS_CONNECTED
				u.counts.Connected++
			}
		case kind == 2: // SOCK_DGRAM
			u.counts.Datagram++
		}
		first = false
	}
	return nil
}
