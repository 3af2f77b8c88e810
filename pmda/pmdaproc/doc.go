// Package pmdaproc is an agent that exports what a Linux kernel tells of its processes, below
// /proc/PID. Its metrics have the names, PMIDs, types, semantics, units and instances of PCP's
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
// executed another program, or another process has its ID.
//
// # Who may see what
//
// A request of a client whose user and group are known is served with the rights of these, on a
// thread of its own, so that the kernel decides what the client sees. The agent has to run as the
// root user for that; otherwise it serves clients of its own user and group. Clients of whom user
// and group are not known get the numbers of processes, and no more. See
// [Options].NoAccessChecks.
//
// # Where a metric is made
//
// Most metrics are rows of tables, in a file that is named as the one below /proc/PID is: stat.go
// (psinfo), status.go (psinfo, id, memory, namespaces), statm.go (memory, schedstat,
// psinfo.oom_score), smaps.go (smaps, io), process_cgroup.go (psinfo.cgroups, id.container),
// small_files.go (fd, autogroup, psinfo.exe, psinfo.cwd, psinfo.labels). runq.go has proc.runq and
// control.go proc.control.
//
// The other files: proc.go makes the agent, access.go serves requests with the rights of clients,
// identity_linux.go switches to those, process.go lists processes, process_names.go names them,
// process_filter.go lists those of a control group, process_metrics.go reads their files when
// metrics are asked for, files.go and files_linux.go open and read them.
package pmdaproc
