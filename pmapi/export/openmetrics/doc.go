// Package openmetrics writes metrics as a page for Prometheus and compatible scrapers: in the
// format OpenMetrics 1.0, in the text format 0.0.4 of Prometheus, or in the format of PCP's
// pmproxy.
//
//	d := &pmapi.Dialer{AutoReconnect: true}
//	c, err := d.Dial(ctx, "localhost")
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	http.Handle("/metrics", &openmetrics.Handler{
//		Reader: &export.Reader{Context: c, Names: []string{"kernel", "disk"}},
//	})
//	return http.ListenAndServe("localhost:9100", nil)
//
// This job of Prometheus scrapes it:
//
//	scrape_configs:
//	- job_name: pcp
//	  static_configs: [{targets: ['localhost:9100']}]
//
// Package webapi has the same page with a choice of collectors.
//
// # Choose the format
//
// A Handler chooses the format by the header Accept of the scraper. The parameter format
// (openmetrics, prometheus or pcp) has precedence. Equal values make equal pages.
//
// # One name in all formats
//
// Each version of Prometheus stores a metric under the same name, whether it scrapes or receives
// the metric. So names have underscores even if the scraper accepts any UTF-8 name. The counter
// kernel.all.cpu.user, in milliseconds, is:
//
//	scraped by Prometheus 2 or 3         kernel_all_cpu_user_seconds_total
//	scraped with format=prometheus       kernel_all_cpu_user_seconds_total
//	sent by package remotewrite          kernel_all_cpu_user_seconds_total
//	sent by package otlp                 kernel.all.cpu.user, unit s; Prometheus makes of it
//	                                     kernel_all_cpu_user_seconds_total
//	format=pcp                           kernel_all_cpu_user, in milliseconds
//
// A Gateway of package webapi uses the last one if the scraper does not accept OpenMetrics, because
// scripts for pmproxy expect it. A scraper that accepts only text/plain, such as that of
// VictoriaMetrics, gets the other names from it with format=prometheus:
//
//	params: {format: [prometheus]}
//
// Different names in PCP can be one name here. All ways to Prometheus then number the same metrics,
// in the order of their names in PCP, and Handler.Log receives their names:
//
//	PCP                    Prometheus           OTLP
//	app.a.b, in seconds    app_a_b_seconds      app.a.b
//	app.a_b, in seconds    app_a_b_2_seconds    app.a_b_2
//	app.a_b_seconds        app_a_b_3_seconds    app.a_b_3
//
// # Names and types
//
// A metric becomes a family. Its name n is the name in PCP with "_" in place of each dot:
//
//	PCP                            OpenMetrics                 text 0.0.4        pmproxy
//	counter                        counter n, sample n_total   counter n_total   counter n
//	instant or discrete number     gauge n                     gauge n           gauge n
//	discrete string                info n, sample n_info       gauge n_info      –
//	counter, instances as buckets  histogram n                 histogram n       counter n
//	number, instances as buckets   gaugehistogram n            gauge n, with le  gauge n
//	aggregate or event record      –                           –                 –
//
// The sample of a discrete string is 1, and its label value is the string.
//
// Values are in base units, such as bytes and seconds, and the name ends with the unit:
// kernel.all.cpu.user becomes kernel_all_cpu_user_seconds_total. The format of pmproxy keeps the
// units and names of PCP.
//
// # Labels
//
// The label instname is the name of the instance. The text formats also have its number in instid.
// The labels of the domain, the instance domain, the cluster, the metric and the instance follow,
// without groupid, machineid and userid. The labels of the host are in the family target_info. The
// format of pmproxy has all labels on each sample.
//
// # Histograms
//
// The instances of a domain are the buckets of a histogram if the domain or the metric has the
// label buckets. These labels describe it:
//
//	buckets      "cumulative" or "disjoint"
//	le           of each instance: the upper bound of the bucket
//	le_unit      the unit of the bounds, such as "millisec"; else the unit of the metric
//	sum_metric   the metric with the sum of the observed values
//
// The label sum_metric may be only the last component of a name; the others are the metric's.
//
// A domain may have the buckets of several histograms, such as one for each job. Their instances
// then need another label, such as job, that tells the histograms apart; instname does not. Without
// it, the label buckets has no effect.
//
// # The view of node_exporter
//
// With the parameter view=node, a Handler shows the metrics of PCP's agent linux under the names of
// Prometheus' node_exporter. Dashboards and alerts for node_exporter then work with a host that
// runs PCP. Dashboards expect a job with the name node:
//
//	scrape_configs:
//	- job_name: node
//	  params: {view: [node]}
//	  static_configs: [{targets: ['localhost:9100']}]
//
// The Names and Keep of the Reader do not apply to this view. Names, types, labels and units are
// those of node_exporter. Like node_exporter with its default options, the view leaves out some
// mount points and all partitions. Metrics that the host lacks (another kernel, no agent) are
// missing.
//
// The view has these collectors of node_exporter: cpu, cpufreq, diskstats, entropy, filefd,
// filesystem, loadavg, meminfo, netclass, netdev, netstat, nfs, nfsd, pressure, sockstat, softnet,
// stat, time, uname and vmstat. The metric node_scrape_collector_success is 1 for each of them with
// data; time does not have it.
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
package openmetrics
