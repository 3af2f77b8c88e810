package nodeview

var netdevFamilies = []family{
	netdev("receive_bytes", "in.bytes", "Bytes that were received"),
	netdev("receive_compressed", "in.compressed", "Compressed packets that were received"),
	netdev("receive_drop", "in.drops", "Packets that were dropped when they were received"),
	netdev("receive_errs", "in.errors", "Errors of receiving"),
	netdev("receive_fifo", "in.fifo", "Packets that were lost since a queue was full when they were received"),
	netdev("receive_frame", "in.frame", "Packets with errors of framing that were received"),
	netdev("receive_multicast", "in.mcasts", "Packets to several that were received"),
	netdev("receive_packets", "in.packets", "Packets that were received"),
	netdev("transmit_bytes", "out.bytes", "Bytes that were sent"),
	netdev("transmit_carrier", "out.carrier", "Losses of the carrier"),
	netdev("transmit_colls", "collisions", "Collisions"),
	netdev("transmit_compressed", "out.compressed", "Compressed packets that were sent"),
	netdev("transmit_drop", "out.drops", "Packets that were dropped and not sent"),
	netdev("transmit_errs", "out.errors", "Errors of sending"),
	netdev("transmit_fifo", "out.fifo", "Packets that were lost since a queue was full when they were sent"),
	netdev("transmit_packets", "out.packets", "Packets that were sent"),
}

func netdev(name, metric, help string) family {
	return family{"node_network_" + name + "_total", help, counter, []source{{metric: "network.interface." + metric, by: device, mul: 1}}}
}

var netclassFamilies = []family{
	{"node_network_info", "The address of an interface, and what it is", gauge, []source{{metric: "network.interface.mtu", by: device, value: always(1), mul: 1, joins: []join{
		{label: "address", metric: "network.interface.hw_addr"},
		{label: "duplex", metric: "network.interface.duplex", text: duplex},
	}}}},
	{"node_network_mtu_bytes", "The size of the largest packet", gauge, []source{{metric: "network.interface.mtu", by: device}}},
	{"node_network_protocol_type", "The type of an interface's addresses, by the kernel's number", gauge, []source{{metric: "network.interface.type", by: device, value: known}}},
	{"node_network_speed_bytes", "Bytes that an interface can send in a second", gauge, []source{{metric: "network.interface.baudrate", by: device, mul: 1, value: speed}}},
	{"node_network_up", "1 if an interface that is a real device works", gauge, []source{{metric: "network.interface.running", by: device, joins: []join{
		{metric: "network.interface.virtual", required: true, text: isReal},
		{metric: "network.interface.type", required: true, text: isTyped},
	}}}},
}

// known omits 0, which C's agent reports as the type of a virtual interface.
func known(v float64) (float64, bool) { return v, v != 0 }

// isReal is the text function for network.interface.virtual. PCP does not report whether a virtual
// interface is up.
func isReal(virtual string) (string, bool) { return "", virtual == "0" }

// isTyped is the text function for network.interface.type. If the type is unknown, C's agent does
// not know whether the interface is virtual.
func isTyped(number string) (string, bool) { return "", number != "0" }

// duplex is the text function for network.interface.duplex.
func duplex(number string) (string, bool) {
	switch number {
	case "1":
		return "half", true
	case "2":
		return "full", true
	}
	return "unknown", true
}

// speed omits an unknown speed, which drivers report as the largest number.
func speed(v float64) (float64, bool) { return v, v < 1<<48 }

var netstatFamilies = counts("node_netstat_", "of the network statistics", [][2]string{
	{"Icmp6_InErrors", "network.icmp6.inerrors"}, {"Icmp6_InMsgs", "network.icmp6.inmsgs"}, {"Icmp6_OutMsgs", "network.icmp6.outmsgs"},
	{"Icmp_InErrors", "network.icmp.inerrors"}, {"Icmp_InMsgs", "network.icmp.inmsgs"}, {"Icmp_OutMsgs", "network.icmp.outmsgs"},
	{"Ip6_InOctets", "network.ip6.inoctets"}, {"Ip6_OutOctets", "network.ip6.outoctets"}, {"IpExt_InOctets", "network.ip.inoctets"},
	{"IpExt_OutOctets", "network.ip.outoctets"}, {"Ip_Forwarding", "network.ip.forwarding"},
	{"TcpExt_ListenDrops", "network.tcp.listendrops"}, {"TcpExt_ListenOverflows", "network.tcp.listenoverflows"},
	{"TcpExt_SyncookiesFailed", "network.tcp.syncookiesfailed"}, {"TcpExt_SyncookiesRecv", "network.tcp.syncookiesrecv"},
	{"TcpExt_SyncookiesSent", "network.tcp.syncookiessent"}, {"TcpExt_TCPOFOQueue", "network.tcp.ofoqueue"}, {"TcpExt_TCPRcvQDrop", "network.tcp.tcprcvqdrop"},
	{"TcpExt_TCPSynRetrans", "network.tcp.synretrans"}, {"TcpExt_TCPTimeouts", "network.tcp.timeouts"},
	{"Tcp_ActiveOpens", "network.tcp.activeopens"}, {"Tcp_CurrEstab", "network.tcp.currestab"}, {"Tcp_InErrs", "network.tcp.inerrs"},
	{"Tcp_InSegs", "network.tcp.insegs"}, {"Tcp_OutRsts", "network.tcp.outrsts"}, {"Tcp_OutSegs", "network.tcp.outsegs"},
	{"Tcp_PassiveOpens", "network.tcp.passiveopens"}, {"Tcp_RetransSegs", "network.tcp.retranssegs"},
	{"Udp6_InDatagrams", "network.udp6.indatagrams"}, {"Udp6_InErrors", "network.udp6.inerrors"}, {"Udp6_NoPorts", "network.udp6.noports"},
	{"Udp6_OutDatagrams", "network.udp6.outdatagrams"}, {"Udp6_RcvbufErrors", "network.udp6.rcvbuferrors"}, {"Udp6_SndbufErrors", "network.udp6.sndbuferrors"},
	{"UdpLite6_InErrors", "network.udplite6.inerrors"}, {"UdpLite_InErrors", "network.udplite.inerrors"},
	{"Udp_InDatagrams", "network.udp.indatagrams"}, {"Udp_InErrors", "network.udp.inerrors"}, {"Udp_NoPorts", "network.udp.noports"},
	{"Udp_OutDatagrams", "network.udp.outdatagrams"}, {"Udp_RcvbufErrors", "network.udp.recvbuferrors"}, {"Udp_SndbufErrors", "network.udp.sndbuferrors"},
})

var sockstatFamilies = append(sockstat([][2]string{
	{"FRAG6_inuse", "frag6.inuse"}, {"FRAG6_memory", "frag6.memory"}, {"FRAG_inuse", "frag.inuse"}, {"FRAG_memory", "frag.memory"},
	{"RAW6_inuse", "raw6.inuse"}, {"RAW_inuse", "raw.inuse"}, {"TCP6_inuse", "tcp6.inuse"}, {"TCP_alloc", "tcp.alloc"}, {"TCP_inuse", "tcp.inuse"},
	{"TCP_mem", "tcp.mem"}, {"TCP_orphan", "tcp.orphan"}, {"TCP_tw", "tcp.tw"}, {"UDP6_inuse", "udp6.inuse"}, {"UDPLITE6_inuse", "udplite6.inuse"},
	{"UDPLITE_inuse", "udplite.inuse"}, {"UDP_inuse", "udp.inuse"}, {"UDP_mem", "udp.mem"}, {"sockets_used", "total"},
}),
	family{"node_sockstat_TCP_mem_bytes", "Memory of TCP sockets", gauge, []source{{metric: "network.sockstat.tcp.mem", mul: 1, times: "hinv.pagesize"}}},
	family{"node_sockstat_UDP_mem_bytes", "Memory of UDP sockets", gauge, []source{{metric: "network.sockstat.udp.mem", mul: 1, times: "hinv.pagesize"}}},
)

func sockstat(fields [][2]string) []family {
	var all []family
	for _, f := range fields {
		all = append(all, one("node_sockstat_"+f[0], gauge, "network.sockstat."+f[1], f[0]+" of the sockets"))
	}
	return all
}

var softnetFamilies = []family{
	softnet("dropped", "dropped", "Packets that a CPU dropped since its queue was full"),
	softnet("processed", "processed", "Packets that a CPU processed"),
	softnet("times_squeezed", "time_squeeze", "How often a CPU had no time left for more packets"),
}

func softnet(name, metric, help string) family {
	return family{"node_softnet_" + name + "_total", help, counter, []source{{metric: "network.softnet.percpu." + metric, by: cpu}}}
}
