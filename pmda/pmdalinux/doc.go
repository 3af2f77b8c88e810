// Package pmdalinux is an agent that exports the statistics of the Linux kernel: of
// processors, memory, disks, network interfaces, file systems, NFS. Its metrics have
// the names, PMIDs, types, semantics, units and instances of PCP's own Linux agent, so
// that tools that know those work with either.
//
//	linux, err := pmdalinux.New(pmdalinux.Options{})
//	if err != nil {
//		return err // errors.ErrUnsupported: this is no Linux
//	}
//	err = server.Add(linux)
//
// It is the counterpart of pmdalinux(1), and can take its place: see the program in
// examples/pmdalinux.
//
// # How it reads
//
// A fetch reads the files below /proc and /sys that its metrics come from, each once,
// into memory that is kept: it allocates nothing as long as no device comes or goes. A long
// file of numbers with names, such as /proc/vmstat, is read only as far as they are needed.
// Sockets of TCP, UDP and the Unix domain are counted through netlink, which takes a fifth of
// the time of /proc/net/tcp and its like; those are read where netlink fails, or for another
// [Options].Root.
// What a kernel does not have is absent: its metrics have no value, or the error of the
// C agent. So is what cannot be understood, in a file whose other lines are used all
// the same. A device whose name no instance can have is left out alone: root may give a
// network interface a name with control characters.
//
// All system calls are ones that Go's scheduler knows of. While one of them waits, as
// for a lock of the kernel, the goroutines of other clients and of the program that the
// agent is in go on.
//
// # What it keeps
//
// Files stay open once they have been read: most of those below /proc, of which there
// are some dozens, and up to 128 of those that each device has, such as a disk's
// scheduler. The rest are opened each time, which allocates. A netlink socket stays open
// for each list of sockets, of which there are five. A file that is not there is
// looked for again after ten seconds. Instances have the same IDs as long as the agent
// runs, and beyond with [Options].StateDir.
//
// # What may take long
//
// The metrics filesys and tmpfs come from statfs(2) of the file systems that the client
// wants. File systems of other machines are not listed, as they may not reply. Where one
// of a disk does not, fetches of filesys have to wait, and no others.
//
// # Containers
//
// A client that asks for a container gets that one's network (but softnet), filesys, tmpfs,
// kernel.uname (but distro), pmda.uname, hinv.ninterface, hinv.nfilesys and hinv.machine; all others
// are the machine's. [Options].ContainerProcess tells a process of the container, and below /proc/PID
// are its network, mounts and root directory. The host name and IPv4 addresses come from a thread that
// is in the container's namespace for that. An interface or file system has the ID that the machine's
// of the same name has, or would have. No file of a container stays open, and of its /sys only
// what is the kernel's is read. If the container does not run, or if the agent has not the rights to look into
// it, the error of a fetch that has such metrics is EPERM, as with the C agent. Unlike that one, tmpfs
// and filesys have the space of the container's file systems, and not of those that the machine has at
// the same directories.
//
// # What it does not do
//
// It runs no programs. Whether arrays of disks work, for which the C agent runs mdadm,
// is in /sys. Metrics of files that only the root user may read have values for clients
// that are this user: see [Options].Trusts.
//
// # Where a metric is made
//
// Every metric stands with its whole name in a table or a registration, where a text
// search finds it. The files are named by subject. In this list, the longest name that
// a metric begins with tells the file:
//
//	disk zram                                       disk_metrics.go
//	disk.dev.capacity disk.partitions.capacity      disk_capacity.go
//	disk.dm.capacity disk.md.capacity               disk_capacity.go
//	disk.dev.scheduler hinv.map.dmname              disk_names.go
//	hinv.map.mdname hinv.map.scsi_id                disk_names.go
//	disk.md.status                                  disk_md_status.go
//	disk.wwid.capacity disk.wwid.scheduler          disk_wwid.go
//	disk.wwid.scsi_paths                            disk_wwid.go
//	hinv.ndisk                                      disk_devices.go
//	hinv.map.scsi                                   disk_scsi.go
//	tape hinv.ntape                                 disk_tape.go
//	fchost hinv.nfchost                             disk_fchost.go
//	zram.capacity zram.io_stat zram.mm_stat         disk_zram.go
//	zram.bd_stat                                    disk_zram.go
//
//	filesys tmpfs hinv.nfilesys                     fs_usage.go
//	vfs                                             fs_vfs.go
//
//	hinv.cpu                                        hinv_cpuinfo.go
//	hinv.cpu.online hinv.cpu.thermal_throttle       hinv_cpu_files.go
//	hinv.node.online                                hinv_cpu_files.go
//	hinv.cpu.frequency_scaling                      hinv_cpu_frequency.go
//	hinv.nnode                                      hinv_nodes.go
//
//	ipc                                             ipc_limits.go
//	ipc.msg.key ipc.msg.owner ipc.msg.perms         ipc_objects.go
//	ipc.msg.msgsz ipc.msg.messages                  ipc_objects.go
//	ipc.msg.last_send_pid ipc.msg.last_recv_pid     ipc_objects.go
//	ipc.msg.used_queues ipc.msg.tot_msg             ipc_objects.go
//	ipc.msg.tot_bytes                               ipc_objects.go
//	ipc.sem.key ipc.sem.owner ipc.sem.perms         ipc_objects.go
//	ipc.sem.nsems ipc.sem.used_sem ipc.sem.tot_sem  ipc_objects.go
//	ipc.shm                                         ipc_objects.go
//	ipc.shm.max_seg ipc.shm.max_segproc             ipc_limits.go
//	ipc.shm.max_segsz ipc.shm.max_shmsys            ipc_limits.go
//	ipc.shm.min_segsz                               ipc_limits.go
//
//	kernel.all.cpu kernel.percpu.cpu                kernel_cpu_times.go
//	kernel.pernode.cpu                              kernel_cpu_times.go
//	kernel.all.interrupts kernel.all.softirqs       kernel_interrupts.go
//	kernel.percpu.interrupts kernel.percpu.intr     kernel_interrupts.go
//	kernel.percpu.softirqs kernel.percpu.sirq       kernel_interrupts.go
//	kernel.all.load kernel.all.lastpid              kernel_load.go
//	kernel.all.runnable kernel.all.nprocs           kernel_load.go
//	kernel.uname pmda hinv.machine                  kernel_names.go
//	kernel.all.pressure                             kernel_pressure.go
//	kernel.all.intr kernel.all.pswitch              kernel_stat.go
//	kernel.all.sysfork kernel.all.running           kernel_stat.go
//	kernel.all.blocked kernel.all.boottime          kernel_stat.go
//	hinv.ncpu hinv.map.cpu_num hinv.map.cpu_node    kernel_stat.go
//	kernel.all.entropy kernel.all.pid_max           kernel_sysctls.go
//	kernel.all.nptys                                kernel_sysctls.go
//	sysfs.kernel.uevent_seqnum                      kernel_uevents.go
//	kernel.all.uptime kernel.all.idletime           kernel_uptime.go
//	kernel.all.hz                                   kernel_uptime.go
//	kernel.all.nusers kernel.all.nroots             kernel_users.go
//	kernel.all.nsessions                            kernel_users.go
//
//	mem.util mem.physmem mem.freemem                mem_info.go
//	swap hinv.physmem hinv.pagesize                 mem_info.go
//	hinv.hugepagesize                               mem_info.go
//	mem.buddyinfo                                   mem_buddyinfo.go
//	sysfs.kernel.debug                              mem_fragmentation.go
//	mem.ksm                                         mem_ksm.go
//	mem.numa                                        mem_numa.go
//	mem.numa.max_bandwidth                          mem_numa_bandwidth.go
//	mem.slabinfo                                    mem_slabinfo.go
//	swapdev                                         mem_swapdev.go
//	swap.in swap.out swap.pagesin swap.pagesout     mem_vmstat.go
//	mem.vmstat                                      mem_vmstat_table.go
//	mem.zoneinfo.protection                         mem_zoneinfo.go
//	mem.zoneinfo                                    mem_zoneinfo_table.go
//
//	network.interface network.all hinv.ninterface   net_interface.go
//	network.interface.inet_addr                     net_interface_addresses.go
//	network.interface.ipv6_addr                     net_interface_addresses.go
//	network.interface.ipv6_scope                    net_interface_addresses.go
//	network.interface.hw_addr                       net_interface_addresses.go
//	network.interface.mtu                           net_interface_attributes.go
//	network.interface.speed                         net_interface_attributes.go
//	network.interface.baudrate                      net_interface_attributes.go
//	network.interface.duplex                        net_interface_attributes.go
//	network.interface.up                            net_interface_attributes.go
//	network.interface.running                       net_interface_attributes.go
//	network.interface.wireless                      net_interface_attributes.go
//	network.interface.type                          net_interface_attributes.go
//	network.interface.virtual                       net_interface_attributes.go
//	network.sockstat network.icmpmsg                net_protocols.go
//	network.ip network.icmp network.udp             net_snmp_tables.go
//	network.udplite network.mptcp                   net_snmp_tables.go
//	network.ip6 network.icmp6 network.udp6          net_snmp6_tables.go
//	network.udplite6                                net_snmp6_tables.go
//	network.tcpconn network.tcpconn6                net_sockets.go
//	network.udpconn network.udpconn6                net_sockets.go
//	network.rawconn network.rawconn6 network.unix   net_sockets.go
//	network.softnet                                 net_softnet.go
//	network.tcp                                     net_tcp_tables.go
//
//	nfs nfs3 nfs4                                   nfs_rpc.go
//	rpc.server.ra_size rpc.server.ra_hits           nfs_rpc.go
//	rpc.server.ra_misses rpc.server.fh_cached       nfs_rpc.go
//	rpc.server.fh_valid rpc.server.fh_fixup         nfs_rpc.go
//	rpc.server.fh_concurrent                        nfs_rpc.go
//	rpc                                             nfs_rpc_tables.go
//	nfs.server.threads                              nfs_threads.go
//
//	tty                                             tty_serial.go
//
// The other files: linux.go makes the agent and the groups that read files, container.go and
// container_linux.go serve clients that ask for a container, files.go says
// how files are read, instances.go makes rows of a file the instances of a domain,
// device_files.go reads the small files that each device has, device_directory.go lists
// the devices of a directory below /sys, disk_stats.go parses /proc/diskstats, number.go
// and number_files.go are for metrics of single numbers. The parsers that several files
// need are in the package pmda/internal/procfile, what counts sockets through netlink in internal/sockdiag.
//
// # How to add a metric
//
// Say that a kernel has a file /proc/fans with a line such as "fan0 1200 7" for each
// fan: its name, its revolutions per minute, and how often it has stalled.
//
// First, find PCP's name, PMID, type, semantics and units for it, as pminfo -dmt shows
// them. Then make a file named by the subject, here hinv_fans.go, or take the one in the
// list above that has the subject already. In it are a type for a line,
//
//	type fan struct {
//		speed, stalls     uint64
//		hasSpeed, counted bool
//	}
//
// a parser, which keeps what it can understand of a damaged file,
//
//	func parseFans(fans *instances[fan], text []byte) error {
//		fans.Begin()
//		for line := range procfile.Lines(text) {
//			name, rest := procfile.CutField(line)
//			f := fans.Row(name)
//			f.speed, rest, f.hasSpeed = procfile.CutUint(rest)
//			f.stalls, _, f.counted = procfile.CutUint(rest)
//		}
//		return fans.End()
//	}
//
// the instance domain with the group that reads the file, and the metrics, each with its
// whole name:
//
//	func (l *linux) addFans() {
//		fans := &instances[fan]{indom: &pmda.InDom{Serial: pmda.InDomSerial(99), Name: "fan", Text: "Fans, by the kernel's names"}}
//		fans.indom.Group = l.fileGroup("proc/fans", func(text []byte) error { return parseFans(fans, text) })
//		l.Attach(fans.indom)
//		pmda.Register(l.Agent, pmda.Metric[uint64]{
//			Name: "hinv.fan.speed", ID: pmda.Item(99, 0), InDom: fans.indom,
//			Text:   "Revolutions of each fan in a minute",
//			Values: rowValues(fans, func(f *fan) (uint64, bool) { return f.speed, f.hasSpeed }),
//		})
//		pmda.Register(l.Agent, pmda.Metric[uint64]{
//			Name: "hinv.fan.stalls", ID: pmda.Item(99, 1), InDom: fans.indom, Sem: pdu.SemCounter, Units: pdu.UnitCount,
//			Text:   "Times that each fan has stalled",
//			Values: rowValues(fans, func(f *fan) (uint64, bool) { return f.stalls, f.counted }),
//		})
//	}
//
// A file of numbers with names needs no parser of its own: see the table in mem_info.go
// and procfile.KeyedFile. A line there is a metric.
//
// Then call addFans in linux.add, add the name to the list above, and, if the kernel
// writes the file in pieces of limited length, the length in files.go. The test is a
// fixture, a tree with the file, good and damaged, and what is to be seen of it, as in
// worked_example_test.go, which has all this code. Add the file to the trees of testdata
// if it belongs there: go test -update writes the golden files anew. TestTwin and TestTrees
// compare the metric with PCP's automatically.
package pmdalinux
