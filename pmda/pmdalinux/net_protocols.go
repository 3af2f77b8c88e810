package pmdalinux

import (
	"context"
	"fmt"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// addProtocols adds the metrics of the counters that the kernel's protocols have.
func (l *linux) addProtocols() {
	snmp, netstat := &named{missing: pmda.NoValue}, &named{missing: pmda.NoValue}
	// C makes zeros of what these files lack; that it is not supported is more.
	snmp6, sockets := &named{missing: pdu.ErrAppVersion}, &named{missing: pdu.ErrAppVersion}
	g := l.source("proc/net/snmp", snmp.parseTable)
	l.addNamed(snmp, g, snmpMetrics, tcpMetrics)
	l.addICMPTypes(snmp, g)
	l.addNamed(netstat, l.source("proc/net/netstat", netstat.parseTable), netstatMetrics, tcpExtMetrics)
	l.addNamed(snmp6, l.source("proc/net/snmp6", snmp6.parseList), snmp6Metrics)
	l.addNamedInt32(sockets, l.source("proc/net/sockstat", sockets.parsePairs), pdu.UnitCount, socketMetrics)
	sockets6 := &named{missing: pdu.ErrAppVersion}
	l.addNamedInt32(sockets6, l.source("proc/net/sockstat6", sockets6.parsePairs), pdu.UnitCount, socket6Metrics)
}

// addICMPTypes adds the metrics that have an instance for each type of ICMP
// messages, of the lines IcmpMsg of /proc/net/snmp: they have just the types seen.
func (l *linux) addICMPTypes(n *named, g *pmda.Group) {
	const types = 256
	all := make([]pdu.Instance, types)
	for i := range all {
		all[i] = pdu.Instance{ID: pdu.InstID(i), Name: fmt.Sprintf("Type%d", i)}
	}
	indom := &pmda.InDom{Serial: 23, Name: "ICMP type", Text: "Types of ICMP messages"}
	indom.Set(all...)
	l.Attach(indom)
	for i, m := range []struct{ name, prefix, text string }{
		{"network.icmpmsg.intype", "InType", "ICMP messages received, by their type"},
		{"network.icmpmsg.outtype", "OutType", "ICMP messages sent, by their type"},
	} {
		var at [types]int
		for t := range at {
			at[t] = n.want("IcmpMsg", fmt.Sprint(m.prefix, t))
		}
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: m.name, ID: pmda.Item(14, 88+i), InDom: indom, Group: g,
			Sem: pdu.SemCounter, Units: pdu.UnitCount, Text: m.text,
			Values: func(_ context.Context, _ *pmda.Request, s *pmda.Set[uint64]) error {
				for t, at := range at {
					if n.known[at] {
						s.Put(pdu.InstID(t), n.vals[at])
					}
				}
				return nil
			},
		})
	}
}

// socketMetrics are those of /proc/net/sockstat.
var socketMetrics = []namedMetrics{
	{11, "sockets", []namedMetric{
		{9, "network.sockstat.total", "used", "Sockets that there are, of all kinds"},
	}},
	{11, "TCP", []namedMetric{
		{0, "network.sockstat.tcp.inuse", "inuse", "TCP sockets in use, of IPv4"},
		{10, "network.sockstat.tcp.orphan", "orphan", "TCP sockets that no program has any more"},
		{11, "network.sockstat.tcp.tw", "tw", "TCP sockets in state TIME_WAIT"},
		{12, "network.sockstat.tcp.alloc", "alloc", "TCP sockets that there are, in any state"},
		{13, "network.sockstat.tcp.mem", "mem", "Pages of memory that TCP has for its buffers"},
	}},
	{11, "UDP", []namedMetric{
		{3, "network.sockstat.udp.inuse", "inuse", "UDP sockets in use, of IPv4"},
		{14, "network.sockstat.udp.mem", "mem", "Pages of memory that UDP has for its buffers"},
	}},
	{11, "UDPLITE", []namedMetric{
		{8, "network.sockstat.udplite.inuse", "inuse", "UDP-Lite sockets in use, of IPv4"},
	}},
	{11, "RAW", []namedMetric{
		{6, "network.sockstat.raw.inuse", "inuse", "Raw sockets in use, of IPv4"},
	}},
	{11, "FRAG", []namedMetric{
		{15, "network.sockstat.frag.inuse", "inuse", "IP packets of which fragments are awaited"},
		{16, "network.sockstat.frag.memory", "memory", "Bytes of memory that fragments of IP packets take"},
	}},
}

// socket6Metrics are those of /proc/net/sockstat6.
var socket6Metrics = []namedMetrics{
	{73, "TCP6", []namedMetric{
		{0, "network.sockstat.tcp6.inuse", "inuse", "TCP sockets in use, of IPv6"},
	}},
	{73, "UDP6", []namedMetric{
		{1, "network.sockstat.udp6.inuse", "inuse", "UDP sockets in use, of IPv6"},
	}},
	{73, "UDPLITE6", []namedMetric{
		{2, "network.sockstat.udplite6.inuse", "inuse", "UDP-Lite sockets in use, of IPv6"},
	}},
	{73, "RAW6", []namedMetric{
		{3, "network.sockstat.raw6.inuse", "inuse", "Raw sockets in use, of IPv6"},
	}},
	{73, "FRAG6", []namedMetric{
		{4, "network.sockstat.frag6.inuse", "inuse", "IPv6 packets of which fragments are awaited"},
		{5, "network.sockstat.frag6.memory", "memory", "Bytes of memory that fragments of IPv6 packets take"},
	}},
}
