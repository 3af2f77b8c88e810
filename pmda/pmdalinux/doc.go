// Package pmdalinux is an agent that exports what a Linux kernel tells: processors,
// memory, disks, network interfaces, file systems, NFS. Its metrics have the names,
// PMIDs, types, semantics, units and instances of PCP's own Linux agent, so that
// the tools that know those need not know which of the two they ask.
//
//	linux, err := pmdalinux.New(pmdalinux.Options{})
//	if err != nil {
//		return err // errors.ErrUnsupported: this is no Linux
//	}
//	err = server.Add(linux)
//
// # How it reads
//
// The files below /proc and /sys are read when a metric that comes from them is
// asked for, each once per fetch, into memory that is kept: a fetch allocates
// nothing as long as no device comes or goes. What a kernel does not have is
// absent: its metrics have no value, or the error of the C agent. So is what
// cannot be understood, in a file whose other lines serve all the same.
//
// # What it keeps
//
// Files are left open once they have been asked for: most of those below /proc, of
// which there are some dozens, and up to 128 of those that each device has, such as a
// disk's scheduler. The rest are opened each time, which takes memory. A file that is not there is looked
// for again after ten seconds. Instances have the same IDs as long as the agent runs,
// and beyond with [Options].StateDir.
//
// # What may take long
//
// The metrics filesys and tmpfs ask file systems, those that the client wants. File
// systems of other machines are not listed, as they may not answer. Where one of a
// disk does not, fetches of filesys have to wait, and no others.
//
// # What it does not do
//
// It runs no programs. Whether arrays of disks work, which the C agent asks mdadm,
// is to be seen in /sys. Metrics of files that only the root user may read have
// values for clients that are this user: see [Options].Trusts.
//
// # The C names
//
// It is pmdalinux(1), and takes its place: see the program in examples/pmdalinux.
package pmdalinux
