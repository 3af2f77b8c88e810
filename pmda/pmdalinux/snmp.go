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
	indom := &pmda.InDom{Serial: pmda.InDomSerial(23), Name: "ICMP type", Text: "Types of ICMP messages"}
	indom.SetInstances(all...)
	l.Attach(indom)
	for i, m := range []struct{ name, prefix, text string }{
		{"intype", "InType", "ICMP messages received, by their type"},
		{"outtype", "OutType", "ICMP messages sent, by their type"},
	} {
		var at [types]int
		for t := range at {
			at[t] = n.want("IcmpMsg", fmt.Sprint(m.prefix, t))
		}
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: "network.icmpmsg." + m.name, ID: pmda.Item(14, 88+i), InDom: indom, Group: g,
			Sem: pdu.SemCounter, Units: pdu.UnitCount, Text: m.text,
			Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[uint64]) error {
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
	{11, "sockets", "network.sockstat.", []namedMetric{
		{9, "total", "used", "Sockets that there are, of all kinds"},
	}},
	{11, "TCP", "network.sockstat.tcp.", []namedMetric{
		{0, "inuse", "inuse", "TCP sockets in use, of IPv4"},
		{10, "orphan", "orphan", "TCP sockets that no program has any more"},
		{11, "tw", "tw", "TCP sockets in state TIME_WAIT"},
		{12, "alloc", "alloc", "TCP sockets that there are, in any state"},
		{13, "mem", "mem", "Pages of memory that TCP has for its buffers"},
	}},
	{11, "UDP", "network.sockstat.udp.", []namedMetric{
		{3, "inuse", "inuse", "UDP sockets in use, of IPv4"},
		{14, "mem", "mem", "Pages of memory that UDP has for its buffers"},
	}},
	{11, "UDPLITE", "network.sockstat.udplite.", []namedMetric{
		{8, "inuse", "inuse", "UDP-Lite sockets in use, of IPv4"},
	}},
	{11, "RAW", "network.sockstat.raw.", []namedMetric{
		{6, "inuse", "inuse", "Raw sockets in use, of IPv4"},
	}},
	{11, "FRAG", "network.sockstat.frag.", []namedMetric{
		{15, "inuse", "inuse", "IP packets of which fragments are awaited"},
		{16, "memory", "memory", "Bytes of memory that fragments of IP packets take"},
	}},
}

// socket6Metrics are those of /proc/net/sockstat6.
var socket6Metrics = []namedMetrics{
	{73, "TCP6", "network.sockstat.tcp6.", []namedMetric{
		{0, "inuse", "inuse", "TCP sockets in use, of IPv6"},
	}},
	{73, "UDP6", "network.sockstat.udp6.", []namedMetric{
		{1, "inuse", "inuse", "UDP sockets in use, of IPv6"},
	}},
	{73, "UDPLITE6", "network.sockstat.udplite6.", []namedMetric{
		{2, "inuse", "inuse", "UDP-Lite sockets in use, of IPv6"},
	}},
	{73, "RAW6", "network.sockstat.raw6.", []namedMetric{
		{3, "inuse", "inuse", "Raw sockets in use, of IPv6"},
	}},
	{73, "FRAG6", "network.sockstat.frag6.", []namedMetric{
		{4, "inuse", "inuse", "IPv6 packets of which fragments are awaited"},
		{5, "memory", "memory", "Bytes of memory that fragments of IPv6 packets take"},
	}},
}
