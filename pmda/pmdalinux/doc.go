// Package pmdalinux is an agent that exports the statistics of the Linux kernel: processors,
// memory, disks, network interfaces, file systems, NFS and others.
//
//	linux, err := pmdalinux.New(pmdalinux.Options{})
//	if err != nil {
//		return err // errors.ErrUnsupported if this is not Linux
//	}
//	srv := &collector.Server{}
//	if err := srv.Add(linux); err != nil {
//		return err
//	}
//	return srv.Serve(ctx, ln)
//	// pminfo -f kernel.all.load
//
// The metrics have the names, PMIDs, types, semantics, units and instances of PCP's pmdalinux(1),
// so tools for one work with the other. The program examples/pmdalinux is the agent for a pmcd, in
// place of PCP's. examples/pmcd has it built in.
//
// # Which metrics
//
//	disk tape fchost zram        disks, partitions, md and dm devices, tapes, adapters
//	filesys tmpfs vfs            file systems, files and inodes in use
//	hinv                         amounts of hardware
//	ipc                          message queues, semaphores, shared memory of System V
//	kernel.all kernel.percpu     processors, load, pressure, interrupts, uptime, users
//	kernel.pernode kernel.uname
//	mem swap swapdev             memory, paging, NUMA, slabs, swap devices
//	network                      interfaces, protocols, sockets
//	nfs nfs3 nfs4 rpc            clients and servers of NFS
//	tty                          serial lines
//	pmda.uname sysfs             the agent's version of uname, kernel events
//
// A metric that the kernel does not have has no value, or the error of the C agent. A value that
// cannot be parsed is missing too; the other lines of its file are used.
//
// # As whom
//
// The agent works as any user. Some files can only be read by root: the metrics tty and
// mem.slabinfo. Their values are missing for an agent that is not root. A root agent shows them to
// clients on this machine with the user ID 0, unless [Options].Trusts decides otherwise.
//
// # Instances
//
// Instances keep their IDs as long as the agent runs. With [Options].StateDir they keep them across
// restarts. A device whose name is not a valid instance name is omitted, because root may give a
// network interface a name with control characters.
//
// # Containers
//
// [Options].ContainerProcess returns a process of a container. A client that requests a container
// then gets these metrics of the container, and all others of the machine:
//
//	network, except network.softnet
//	filesys, tmpfs, hinv.ninterface, hinv.nfilesys, hinv.machine
//	kernel.uname, except kernel.uname.distro
//	pmda.uname
//
// The network, the mounts and the root directory of the container are those below /proc/PID. The
// host name and the IPv4 addresses come from a thread that enters the container's namespace. An
// interface or a file system has the same ID as one of that name on the machine. No file of a
// container stays open.
//
// If the container does not run, or if the agent may not look into it, a fetch of these metrics
// fails with EPERM, as with the C agent. The sizes in tmpfs and filesys are those of the
// container's file systems. The C agent returns those of the machine's file systems at the same
// directories.
//
// # Cost of a fetch
//
// A fetch reads each file of its metrics once. It allocates nothing unless devices come or go. A
// long file of named numbers, such as /proc/vmstat, is read only as far as needed. Sockets are
// counted through netlink, which takes a fifth of the time of /proc/net/tcp and similar files.
// Those files are read if netlink fails, or with another [Options].Root.
//
// Files stay open after the first read: most of those below /proc, some dozens, and up to 128
// files of single devices, such as a disk's scheduler. The others are opened for each fetch, which
// allocates. A netlink socket stays open for each of the five lists of sockets. A file that does
// not exist is tried again after ten seconds.
//
// The metrics filesys and tmpfs use statfs(2). Network file systems are not listed, because they
// may not reply. If a local file system does not reply, fetches of filesys wait and others do not.
// While a system call waits, the other goroutines of the program continue.
//
// # Differences from the C agent
//
// The agent runs no programs. The C agent runs mdadm to find out whether disk arrays work; this
// agent reads it from /sys.
package pmdalinux
