// Package pmdaproc is an agent that exports the processes of a Linux machine, its control groups,
// and processes that have ended.
//
//	processes, err := pmdaproc.New(nil)
//	if err != nil {
//		return err // errors.ErrUnsupported if this is not Linux
//	}
//	srv := &collector.Server{}
//	if err := srv.Add(processes); err != nil {
//		return err
//	}
//	return srv.Serve(ctx, ln)
//	// pminfo -f proc.psinfo.psargs
//
// The metrics have the names, PMIDs, types, semantics, units and instances of PCP's pmdaproc(1), so
// tools for one work with the other. The program examples/pmdaproc is the agent for a pmcd, in
// place of PCP's.
//
// # Which metrics
//
//	proc             each process: CPU, memory, I/O, names, users; an instance is a process
//	hotproc          the same for the processes that match a condition
//	cgroup           control groups, of versions 1 and 2
//	acct             processes that have ended
//	proc.nprocs      numbers of processes, visible to all clients
//	proc.runq
//	proc.control     settings, also hotproc.control and acct.control
//
// # As whom
//
// The agent should run as root. It then serves each client on a separate thread with the client's
// user and group, so that the kernel decides what the client sees. Supplementary groups are
// ignored. An agent that is not root serves only clients with the same user and group.
//
// Clients whose user and group are unknown, such as those of other hosts, see the numbers of
// processes, the totals of hotproc, the control groups and the settings. [Options].NoAccessChecks
// shows every client what the agent sees. [Options].AccessConfig gives named users more rights
// after a login.
//
// The kernel lets every thread read all data of its process. The process may
// be a collector with a secret in its environment, so the agent itself hides this data from other
// users.
//
// Values that were read for a client of one user are not returned to a client of another. Names of
// processes are shared, except where /proc is mounted with the option hidepid.
//
// # Hotproc
//
// The metrics below hotproc are those below proc, for the processes that match a condition such as
//
//	uname != "root" && (cpuburn > 0.2 || fname ~ /^java/)
//
// The agent reads the condition from [Options].HotprocConfig. Root can store another one into
// hotproc.control.config. It is evaluated every hotproc.control.refresh seconds, initially 10, for
// all processes and with the rights of the agent. The evaluation runs only while the agent is
// served.
//
// # Control groups
//
// A fetch of cgroup walks once through each hierarchy that its metrics need, as listed in
// /proc/mounts: version 1, version 2, or both. It then reads the files of the requested groups,
// each once. Metrics of devices and of processors read the files of all groups. All clients get
// these metrics.
//
// A client that requests a container gets only that container's groups, if
// [Options].ContainerCgroup finds it. Otherwise the error is pdu.ErrNoContainer.
//
// Symbolic links are not followed. The limits are 65,536 groups in a hierarchy, 256 levels,
// 262,144 pairs of a group and a device, and 4 MiB in a file.
//
// # Processes that have ended
//
// The metrics acct come from the file of the kernel's process accounting, version 3 of its format,
// if accounting is on. The agent reads it with its own rights, for clients that may see processes.
// It starts at the end of the file when the first such client arrives, and continues when the file
// is rotated or truncated. It keeps the last 5,000 processes, each for acct.control.lifetime
// seconds.
//
// The agent switches accounting on if root stores 1 into acct.control.enable_acct,
// [Options].PrivateAccounting is set, and the kernel does not already write records. It switches
// accounting off when it is no longer served.
//
// # Cost of a fetch
//
// A fetch lists /proc once. For each process that the client selects, it reads the files that its
// metrics need, each once. Names and command lines are read when they are first requested. They are
// read again when the kernel's name or the start time changes, because the process executed another
// program or another process has its ID.
//
// Small files stay open for a minute if clients read them more often than that, because opening
// and closing one takes the kernel as long as reading it. At most half of the files that the
// program may open, and no more than 16,384, stay open. Each takes about 5 KB of kernel memory.
//
// One fetch at a time reads processes; others wait. They also wait if the kernel blocks the read of
// a file, such as the maps of a process that waits for a dead file server. If a client named a
// control group, its processes are read before that. If its file system does not reply, only that
// client waits, for a second, and then gets pdu.ErrAgain.
//
// # Values that differ from the C agent
//
// PCP's agent 6.0.3 has wrong values for these metrics:
//
//	psinfo.priority rt_priority         the next field of the file
//	psinfo.policy policy_s              the next field
//	psinfo.delayacct_blkio_time         the next field
//	psinfo.guest_time                   the next field
//	psinfo.cguest_time                  the next field, which is an address
//	id.gid                              the user ID
//	psinfo.ngid                         an index of a table
//	smaps, fetched alone                the first values forever, also values that root
//	                                    has read for other users
//	id.container                        missing with control groups of version 2
//	memory.vm... without memory         the last values; here 0
//	metrics of a file that ends early   text of the file read before; here 0
//	hotproc.predicate.iodemand          bytes; here KB as its units say, and no value for
//	                                    users other than the process's
//	rates in hotproc.predicate          time in whole seconds
//	averages in cgroup.pressure         invalid numbers
//	cgroup with both versions           groups of version 1 are lost
//	cgroup.cpuset.cpus mems, version 2  empty texts
//	cgroup.cpuacct, version 2           groups with 0; the kernel has no such file, and
//	                                    here there are no groups
//	cgroup.cpusched.cfs_quota           -2 without the file
//	cgroup.netclass                     it looks for netcls, the kernel has net_cls
//	cgroup.cpuacct.stat                 clock ticks; here ms as the units say
//	cgroup.blkio.all.time dev.time      the kernel's ms taken as clock ticks
//
// # Behaviour that differs from the C agent
//
// Processes:
//
//   - Names and psargs follow a process that executes another program, and a new process with the
//     same ID. The C agent keeps the first ones.
//   - Names and psargs have no control characters or escape sequences, as in PCP 7.2.
//   - Names of processes without arguments are complete, even with an ID of seven digits.
//   - Instances are sorted by ID, including threads.
//   - Only directories whose name is a decimal number are processes. The C agent takes 12x for 12.
//   - The processes of a container are those of its control group. The C agent finds only those of
//     podman, whose group has a directory named container.
//   - proc.control.perclient.cgroups and -r name the directory with cgroup.procs. The C agent
//     needs a directory container below it, where this agent also looks.
//   - Only root or the agent's own user can change proc.control.all.threads. The C agent lets
//     every local user do it.
//   - Labels of instances and hotproc.predicate are for clients with credentials.
//   - A client's rights do not include the groups of the agent.
//   - Names of users and groups are looked up again after five minutes, and only in /etc/passwd
//     and /etc/group if the program is built without cgo. The C agent keeps the first result.
//   - Strings are released with their process. The C agent keeps them forever.
//   - proc.runq.kernel is 0 and kernel threads count as swapped, as with the C agent, because
//     rules and archives rely on it.
//
// Hotproc:
//
//   - Unknown words and characters, invalid patterns, and the variable syscalls, which ends the C
//     agent, are errors in a condition.
//   - proc, hotproc and the evaluation have separate tables. The C agent mixes them.
//   - PMIDs of hotproc are known from the start.
//
// Control groups:
//
//   - Groups of version 2 are listed for clients that have not fetched before.
//   - cgroup.pressure.irq has values if no other metric of version 2 is fetched.
//   - cgroup.subsys and cgroup.mounts are read each time. The C agent keeps the first result with
//     version 2 alone.
//   - Escapes such as \x20 in the name of a group are kept for invisible characters. Spaces and
//     control characters in names become such escapes, because tools cut names at spaces.
//   - Names of groups and devices in labels are valid JSON.
//   - Only the first mount of a controller, or of version 2, is used. The C agent walks through
//     all.
//
// Accounting:
//
//   - The metrics acct, except the settings, are for clients with credentials.
//   - acct reads a file even if no process is writing to it, and continues in the new file when it
//     is rotated. The C agent only accepts files that grow when it ends a process. It checks that
//     every check_acct_interval seconds; here the interval only applies to switching accounting
//     on.
package pmdaproc
