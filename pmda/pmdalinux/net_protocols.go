package pmdalinux

import (
	"context"
	"fmt"
	"math"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// addProtocols adds the metrics of the counters of the kernel's protocols.
func (l *linux) addProtocols() {
	snmp, netstat, snmp6 := &procfile.GroupedNumbers{Unlimited: "MaxConn"}, new(procfile.GroupedNumbers), new(procfile.GroupedNumbers)
	g := l.fileGroup("proc/net/snmp", snmp.ParseTable)
	l.addProtocolMetrics(snmp, g, pmda.NoValue, snmpMetrics, tcpMetrics)
	l.addICMPTypes(snmp, g)
	l.addProtocolMetrics(netstat, l.fileGroup("proc/net/netstat", netstat.ParseTable), pmda.NoValue, netstatMetrics, tcpExtMetrics)
	// The C agent returns zeros for numbers that this file lacks.
	l.addProtocolMetrics(snmp6, l.fileGroup("proc/net/snmp6", snmp6.ParseList), pdu.ErrAppVersion, snmp6Metrics)
	l.addSocketMetrics("proc/net/sockstat", socketMetrics)
	l.addSocketMetrics("proc/net/sockstat6", socket6Metrics)
}

// protocolMetrics are the metrics of the numbers of a group of procfile.GroupedNumbers.
type protocolMetrics struct {
	cluster int
	group   string
	metrics []protocolMetric
}

// A protocolMetric is one of the metrics. It is a counter unless notCounters has it.
type protocolMetric struct {
	item              int
	name, field, text string
}

// notCounters are the protocolMetrics that are not counters or that have another unit.
var notCounters = map[string]struct {
	sem   pdu.Sem
	units pdu.Units
	help  string
}{
	"network.tcp.rtoalgorithm": {sem: pdu.SemInstant},
	"network.tcp.rtomin":       {sem: pdu.SemInstant, units: pdu.TimeMSec},
	"network.tcp.rtomax":       {sem: pdu.SemInstant, units: pdu.TimeMSec},
	"network.tcp.maxconn":      {sem: pdu.SemInstant},
	"network.tcp.currestab":    {sem: pdu.SemInstant},
	"network.tcp.tcpmemorypressureschrono": {sem: pdu.SemCounter, units: pdu.SpaceMByte,
		help: "The units say megabytes, as those of the C agent do."},
}

// addProtocolMetrics adds metrics of numbers that n has after a refresh of g. missing is the error
// for an absent number.
func (l *linux) addProtocolMetrics(n *procfile.GroupedNumbers, g *pmda.Group, missing error, lists ...[]protocolMetrics) {
	for _, list := range lists {
		for _, some := range list {
			for _, m := range some.metrics {
				at := n.Index(some.group, m.field)
				entry := pmda.Metric[uint64]{
					Name: m.name, ID: pmda.Item(some.cluster, m.item), Group: g,
					Text: m.text, Sem: pdu.SemCounter, Units: pdu.UnitCount,
					Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
						v, ok := n.Get(at)
						if !ok {
							return 0, missing
						}
						return v, nil
					},
				}
				if other, ok := notCounters[entry.Name]; ok {
					entry.Sem, entry.Units, entry.Help = other.sem, other.units, other.help
				}
				pmda.Register(l.Agent, entry)
			}
		}
	}
}

// addSocketMetrics adds metrics of numbers of sockets. They are not counters and have 31 bits.
func (l *linux) addSocketMetrics(file string, list []protocolMetrics) {
	n := new(procfile.GroupedNumbers)
	g := l.fileGroup(file, n.ParsePairs)
	for _, some := range list {
		for _, m := range some.metrics {
			at := n.Index(some.group, m.field)
			pmda.Register(l.Agent, pmda.Metric[int32]{
				Name: m.name, ID: pmda.Item(some.cluster, m.item), Group: g,
				Text: m.text, Units: pdu.UnitCount,
				Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) {
					v, ok := n.Get(at)
					if !ok || v > math.MaxInt32 {
						return 0, pdu.ErrAppVersion // the C agent returns 0
					}
					return int32(v), nil
				},
			})
		}
	}
}

// addICMPTypes adds the metrics with an instance for each type of ICMP message, from the lines
// IcmpMsg of /proc/net/snmp. The lines have only the types that have occurred.
func (l *linux) addICMPTypes(n *procfile.GroupedNumbers, g *pmda.Group) {
	const types = 256
	all := make([]pdu.Instance, types)
	for i := range all {
		all[i] = pdu.Instance{ID: pdu.InstID(i), Name: fmt.Sprintf("Type%d", i)}
	}
	indom := &pmda.InDom{Serial: pmda.InDomSerial(23), Name: "ICMP type", Text: "Types of ICMP messages"}
	indom.SetInstances(all...)
	l.Attach(indom)
	for i, m := range []struct{ name, prefix, text string }{
		{"network.icmpmsg.intype", "InType", "ICMP messages received, by their type"},
		{"network.icmpmsg.outtype", "OutType", "ICMP messages sent, by their type"},
	} {
		var at [types]int
		for t := range at {
			at[t] = n.Index("IcmpMsg", fmt.Sprint(m.prefix, t))
		}
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: m.name, ID: pmda.Item(14, 88+i), InDom: indom, Group: g,
			Sem: pdu.SemCounter, Units: pdu.UnitCount, Text: m.text,
			Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[uint64]) error {
				for t, at := range at {
					if v, ok := n.Get(at); ok {
						s.Put(pdu.InstID(t), v)
					}
				}
				return nil
			},
		})
	}
}

// socketMetrics are the metrics of /proc/net/sockstat.
var socketMetrics = []protocolMetrics{
	{11, "sockets", []protocolMetric{
		{9, "network.sockstat.total", "used", "Sockets that there are, of all kinds"},
	}},
	{11, "TCP", []protocolMetric{
		{0, "network.sockstat.tcp.inuse", "inuse", "TCP sockets in use, of IPv4"},
		{10, "network.sockstat.tcp.orphan", "orphan", "TCP sockets that no program has any more"},
		{11, "network.sockstat.tcp.tw", "tw", "TCP sockets in state TIME_WAIT"},
		{12, "network.sockstat.tcp.alloc", "alloc", "TCP sockets that there are, in any state"},
		{13, "network.sockstat.tcp.mem", "mem", "Pages of memory that TCP has for its buffers"},
	}},
	{11, "UDP", []protocolMetric{
		{3, "network.sockstat.udp.inuse", "inuse", "UDP sockets in use, of IPv4"},
		{14, "network.sockstat.udp.mem", "mem", "Pages of memory that UDP has for its buffers"},
	}},
	{11, "UDPLITE", []protocolMetric{
		{8, "network.sockstat.udplite.inuse", "inuse", "UDP-Lite sockets in use, of IPv4"},
	}},
	{11, "RAW", []protocolMetric{
		{6, "network.sockstat.raw.inuse", "inuse", "Raw sockets in use, of IPv4"},
	}},
	{11, "FRAG", []protocolMetric{
		{15, "network.sockstat.frag.inuse", "inuse", "IP packets of which fragments are awaited"},
		{16, "network.sockstat.frag.memory", "memory", "Bytes of memory that fragments of IP packets take"},
	}},
}

// socket6Metrics are the metrics of /proc/net/sockstat6.
var socket6Metrics = []protocolMetrics{
	{73, "TCP6", []protocolMetric{
		{0, "network.sockstat.tcp6.inuse", "inuse", "TCP sockets in use, of IPv6"},
	}},
	{73, "UDP6", []protocolMetric{
		{1, "network.sockstat.udp6.inuse", "inuse", "UDP sockets in use, of IPv6"},
	}},
	{73, "UDPLITE6", []protocolMetric{
		{2, "network.sockstat.udplite6.inuse", "inuse", "UDP-Lite sockets in use, of IPv6"},
	}},
	{73, "RAW6", []protocolMetric{
		{3, "network.sockstat.raw6.inuse", "inuse", "Raw sockets in use, of IPv6"},
	}},
	{73, "FRAG6", []protocolMetric{
		{4, "network.sockstat.frag6.inuse", "inuse", "IPv6 packets of which fragments are awaited"},
		{5, "network.sockstat.frag6.memory", "memory", "Bytes of memory that fragments of IPv6 packets take"},
	}},
}
