// Package pmdaproc is an agent that exports what a Linux kernel tells of its processes, below
// /proc, of its control groups, and of processes that have ended. Its metrics have the names, PMIDs, types, semantics, units and instances of PCP's
// own agent of processes, so that tools that know those work with either.
//
//	processes, err := pmdaproc.New(nil)
//	if err != nil {
//		return err // errors.ErrUnsupported: this is no Linux
//	}
//	err = server.Add(processes)
//
// It is the counterpart of pmdaproc(1), and can take its place: see the program in
// examples/pmdaproc.
//
// # How it reads
//
// A fetch lists /proc once, and reads of each process in the client's profile the files that its
// metrics come from, each once. Names and command lines are read when they are first asked for,
// and again when the kernel's name or the start time of the process is another one: it has
// executed another program, or another process has its ID. What a client of one user has read
// another one does not get, but for names, and not these either where /proc is mounted with the
// option hidepid.
//
// Small files stay open for a minute if clients read them more often than that: it takes the
// kernel as long to open and close one as to read it. They are half of those that the program
// may have open at most, and no more than 16,384. The kernel needs about 5 KB for each.
//
// One fetch reads processes at a time, and another one waits for it. A file of a process that
// the kernel does not let read at once, such as the maps of one that waits for a dead file server,
// holds up those too. Which processes a control group has that a client has named is read before that:
// a file system that does not answer has that client alone wait, for a second, and then get pdu.ErrAgain.
//
// # Who may see what
//
// A request of a client whose user and group are known is served with the rights of these, on a
// thread of its own, so that the kernel decides what the client sees. The agent has to run as the
// root user for that; otherwise it serves clients of its own user and group. Further groups of a
// user do not count. Clients of whom user and group are not known get the numbers of processes,
// the totals of hotproc and the settings, and no more. See [Options].NoAccessChecks.
//
// The kernel lets a thread see all of its own process, whatever its rights. Of that process, which
// may be a collector with a secret in its environment, the agent itself hides from other users what
// the kernel would hide.
//
// # Hotproc
//
// The metrics below hotproc are those below proc, of the processes that a condition holds for, such
// as
//
//	uname != "root" && (cpuburn > 0.2 || fname ~ /^java/)
//
// It is read from [Options].HotprocConfig, or stored into hotproc.control.config by the root user.
// While the Agent is served it is evaluated every hotproc.control.refresh seconds, 10 at first, for
// all processes and with the rights of the agent.
//
// # Control groups
//
// A fetch of cgroup walks once through each of the hierarchies that its metrics come from, as /proc/mounts has
// them: that of a controller in version 1, or that of version 2, or both side by side. Then it
// reads the files of the groups that the client wants, each once. The metrics of devices and of
// processors read those of all groups. A client that has asked for a container gets the groups of
// that alone, if [Options].ContainerCgroup finds it; otherwise the error is pdu.ErrNoContainer. Links are not followed; there may be 65,536 groups in a hierarchy, 256 levels of them,
// 262,144 pairs of a group and a device, and 4 MiB in a file. All clients get these metrics.
//
// # Processes that have ended
//
// The metrics of acct come from the file of the kernel's process accounting, if that is switched on,
// in version 3 of its format. It is read for clients that may see processes, from where it ended when
// the first of them came, with the rights of the agent, and goes on when it is rotated or emptied.
// The last 5,000 processes are kept, each for acct.control.lifetime seconds. The agent itself switches
// accounting on if the root user stores 1 into acct.control.enable_acct, [Options].PrivateAccounting
// is set and the kernel is not seen to write already. It switches that off when it is no longer served.
//
// # Differences from the C agent
//
// Metrics that have other values than those of PCP's agent 6.0.3, which has the wrong ones:
//
//	psinfo.priority rt_priority policy policy_s     it takes the field after the one that is meant
//	psinfo.delayacct_blkio_time guest_time          the same
//	psinfo.cguest_time                              the same; this one is an address then
//	id.gid                                          it has the user ID
//	psinfo.ngid                                     it has an index of a table
//	smaps, fetched alone                            it repeats the first values for ever, also those that
//	                                                root has read to other users
//	id.container                                    it has none with the second version of control groups
//	memory.vm... of what has no memory any more     it keeps the last values, here they are 0
//	all of a file that ends early                   it goes on in the text of the file before, here the
//	                                                rest is 0
//	hotproc.predicate.iodemand                      it has bytes, here it is KB as its units say; other
//	                                                users than the process's have no value
//	hotproc.predicate, those that are rates         it takes whole seconds for the time
//	cgroup.pressure, averages                       it has numbers that are none
//	cgroup, hierarchies of both versions            it loses the groups of version 1
//	cgroup.cpuset.cpus mems, version 2              it has empty texts
//	cgroup.cpuacct, version 2                       it has groups with 0; the kernel has no such file, and
//	                                                here there are none
//	cgroup.cpusched.cfs_quota without the file      it has -2
//	cgroup.netclass                                 it looks for netcls where the kernel has net_cls
//	cgroup.cpuacct.stat                             it has clock ticks, here it is ms as the units say
//	cgroup.blkio.all.time dev.time                  it takes the kernel's ms for clock ticks
//
// What it does otherwise:
//
//	names and psargs follow a process that executes another program or has the ID of one before;
//	it keeps those that were first seen
//	names and psargs have no control characters and no escape sequences, as since its release 7.2
//	names of processes without arguments are whole, also if the ID has seven digits
//	instances are listed by ascending ID, and threads among them; it has no order
//	only directories that are decimal numbers are processes; it takes 12x for 12
//	an unknown word or character, a bad pattern and the variable syscalls, which ends it, are errors
//	in conditions
//	a table of its own for each of proc, hotproc and the evaluation; it mixes them up
//	PMIDs of hotproc are known from the start
//	the processes of a container are those of its control group; it has only those of podman's, whose
//	group has a directory container
//	proc.control.perclient.cgroups and -r name the directory with cgroup.procs; it needs a directory
//	container there, where this one also looks
//	only root, or the agent's own user, changes proc.control.all.threads; it lets every local user
//	instances' labels and hotproc.predicate are for clients with credentials
//	the rights of a client have no groups of the agent's
//	names of users and groups are looked up again after five minutes, and by /etc/passwd and
//	/etc/group alone if the program is built without cgo; it keeps the first
//	strings are not kept longer than the process that they belong to; it keeps them for ever
//
//	groups of version 2 are listed for clients that have not fetched before; it lists none
//	cgroup.pressure.irq has values also if nothing else of version 2 is fetched
//	cgroup.subsys and cgroup.mounts are read each time; it keeps the first with version 2 alone
//	\x20 in the name of a group, and what else does not stand for a visible character, stays as it is,
//	and spaces and control characters of names become such: tools cut names at spaces
//	names of groups and devices in labels are JSON, whatever characters they have
//	of a controller, or of version 2, the first mount counts; it walks through all
//	acct is for clients with credentials, but for its settings
//	acct reads a file that nobody writes to, and goes on in the new one when it is rotated; it takes
//	only files that grow when it ends a process, and looks at that every check_acct_interval seconds.
//	Here that is for switching accounting on alone
//
// What it does too, since rules and archives rely on it: proc.runq.kernel is 0, and threads of the
// kernel count as swapped.
//
// # Where a metric is made
//
// Most metrics are rows of tables, in a file that is named as the one below /proc/PID is: stat.go
// (psinfo), status.go (psinfo, id, memory, namespaces), statm.go (memory, schedstat,
// psinfo.oom_score), smaps.go (smaps, io), process_cgroup.go (psinfo.cgroups, id.container),
// small_files.go (fd, autogroup, psinfo.exe, psinfo.cwd, psinfo.labels). A row makes a metric of proc
// and its twin of hotproc. runq.go has proc.runq, control.go proc.control, hotproc.go what else
// is below hotproc: hotproc_parse.go parses conditions, hotproc_predicate.go has what they mean, and
// hotproc_sampler.go evaluates them.
// The files cgroup_*.go have the metrics of control groups by subject: overview (in cgroup_mounts.go),
// unified (version 2), io, cpu, memory, blkio. cgroup.go lists groups and reads their files,
// cgroup_walk.go finds and names them, cgroup_devices.go names block devices. acct.go has acct,
// acct_file.go reads the records of the kernel, and acct_record.go parses them.
//
// The other files: proc.go makes the agent, access.go serves requests with the rights of clients,
// identity_linux.go switches to those, clients.go has their settings, process.go lists processes,
// process_names.go names them, process_filter.go lists those of a control group,
// process_metrics.go reads their files when metrics are asked for, files.go and files_linux.go open
// and read them, kept_files.go has those that stay open, names.go finds the names of users, tty.go
// those of terminals.
package pmdaproc
