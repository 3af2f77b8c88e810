// Package nodeview shows the metrics of PCP's agent linux under the names of Prometheus'
// node_exporter. Dashboards and alerts for node_exporter then work with a host that runs PCP.
//
//	d := &pmapi.Dialer{AutoReconnect: true}
//	c, err := d.Dial(ctx, "localhost")
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	http.Handle("/metrics", &openmetrics.Handler{
//		Reader: &export.Reader{Context: c},
//		Views:  map[string]openmetrics.View{"node": nodeview.New},
//	})
//	return http.ListenAndServe("localhost:9100", nil)
//
// Prometheus scrapes /metrics?view=node with this job. Dashboards expect the name node:
//
//	scrape_configs:
//	- job_name: node
//	  params: {view: [node]}
//	  static_configs: [{targets: ['localhost:9100']}]
//
// A webapi.Gateway has this view by default.
//
// # What is shown
//
// Names, types, labels and units are those of node_exporter. Like node_exporter with its default
// options, the view leaves out some mount points and all partitions. Metrics that the host does not
// have (another kernel, no agent) are missing.
//
// # Collectors
//
// The view has these collectors of node_exporter: cpu, cpufreq, diskstats, entropy, filefd,
// filesystem, loadavg, meminfo, netclass, netdev, netstat, nfs, nfsd, pressure, sockstat, softnet,
// stat, time, uname and vmstat. With adds ksmd, processes and tcpstat. The metric
// node_scrape_collector_success is 1 for each collector with data.
//
// # What is missing
//
// PCP does not have this data of node_exporter:
//
//   - The type of a file system: the label fstype is "tmpfs" for tmpfs and "unknown" for all
//     others.
//   - All but one directory where a device is mounted, and whether a tmpfs is read-only.
//   - File systems on loop devices. Most are images of types that node_exporter leaves out.
//   - node_network_up of virtual interfaces, the labels of node_network_info except address and
//     duplex, and some metrics of netclass. With C's agent also node_network_protocol_type of
//     virtual interfaces.
//   - Newer fields of /proc/meminfo, such as Percpu and KReclaimable.
//   - Later requests of NFS 4. PCP confuses their names.
//   - The NIS domain name in node_uname_info, and the duration of each collector.
//   - The collectors arp, bcache, bonding, btrfs, conntrack, dmi, edac, hwmon, infiniband, ipvs,
//     mdadm, nvme, os, powersupplyclass, rapl, schedstat, selinux, systemd, textfile, thermal_zone,
//     timex, udp_queues, xfs and zfs.
package nodeview
