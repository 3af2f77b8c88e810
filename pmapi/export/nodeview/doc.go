// Package nodeview shows the metrics of PCP's Linux agent under the names that Prometheus' node_exporter has for them, so that dashboards
// and alerts for Linux hosts work with a host that runs PCP:
//
//	http.Handle("/metrics", &openmetrics.Handler{
//		Reader: &export.Reader{Context: c},
//		Views:  map[string]openmetrics.View{"node": nodeview.New},
//	})
//
// Prometheus then scrapes /metrics?view=node. Names, types, labels and units are node_exporter's, and so is what it leaves out if it is not told
// otherwise: some mount points, partitions. What a host has not (another kernel, no agent) is missing.
//
// # Collectors
//
// Shown are those of node_exporter's collectors cpu, cpufreq, diskstats, entropy, filefd, filesystem, loadavg, meminfo, netclass, netdev,
// netstat, nfs, nfsd, pressure, sockstat, softnet, stat, time, uname and vmstat for which PCP has the data, and with With those of ksmd, processes and tcpstat.
// node_scrape_collector_success tells of which there is some.
//
// # What PCP does not tell
//
//   - the type of a file system: the label fstype is there only of tmpfs, as "tmpfs", and else "unknown";
//   - more than one directory where a device is mounted, and whether a tmpfs is read-only. File systems on loop devices are left
//     out, for most are images of kinds that node_exporter leaves out;
//   - node_network_up of virtual interfaces, in node_network_info what is not address and duplex, and of netclass
//     what is not there; with C's agent, node_network_protocol_type of them;
//   - fields of /proc/meminfo that are newer, such as Percpu and KReclaimable; later requests of NFS 4, whose names PCP mixes up;
//   - the domain name of NIS in node_uname_info, and how long each collector took;
//   - all of the collectors arp, bcache, bonding, btrfs, conntrack, dmi, edac, hwmon, infiniband, ipvs, mdadm, nvme, os, powersupplyclass, rapl,
//     schedstat, selinux, systemd, textfile, thermal_zone, timex, udp_queues, xfs and zfs.
package nodeview
