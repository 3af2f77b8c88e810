// Package pmdammv is an agent that serves MMV files, in which programs keep the values of their metrics, and the
// Registries of package mmv in the same process. It serves the same as the agent mmv of PCP, in whose place it can be:
// in a collector, or as the program examples/pmdammv.
//
// A program that is instrumented with package mmv has three ways to show its metrics, and each is a line in main:
//
//	err := registry.Publish("")                   // in a file, for the pmdammv of this host
//	err := srv.Add(pmdammv.Of(registry))          // in its own collector, without a file
//	err := srv.Add(pmdammv.New(pmdammv.Options{   // in its own collector, with those of other programs
//		Registries: []*mmv.Registry{registry},
//		Dir:        "/var/lib/pcp/tmp/mmv",
//	}))
//
// # What is served
//
// A metric "requests" of the file or Registry "shop" is called mmv.shop.requests. Its PMID has the cluster that the file
// asks for, or the first free one if it asks for none, and the metric's item. Files of the same cluster share metrics and
// instance domains: the first that has a value of a metric, or a name of an instance, counts. Names are valid if they
// consist of letters, digits, underscores and, between them, dots. Descriptors, help texts, labels, elapsed times that
// are in progress, and values that stand for none are those of the C agent.
//
// # Changes
//
// Each request looks whether files have been added, replaced, changed or removed, or their processes have ended; and
// only what has changed is read again. Clients are told of new names with their next fetch. A store to mmv.control.reload
// reads everything again. A file that is written in place is not served until it is complete; but one that only grows,
// as those of package mmv do, is waited for. With more files than a fetch can look at quickly, it looks at those that it
// reads and at some of the others in turn.
//
// # Damaged files
//
// Files are read and never mapped into memory, so that one that is cut cannot harm the agent. Whatever is wrong with a
// file, the agent serves what is right in it, logs the rest once, and the other files are not affected. There are limits
// for the number of files and for what they hold.
//
// # Differences to the agent of PCP 6
//
//   - NaN is a value that stands for none in a file that has such values, as in PCP 7.
//   - Help texts of instance domains are found, and those of metrics without values.
//   - Labels of a file that asks for no cluster belong to the cluster that it gets.
//   - A metric of type aggregate, or a file that is cut while it is served, ends the C agent and its collector.
//   - A file that was empty or incomplete when it was looked at is found when it is complete.
//   - New instances alone are no change of names; new labels are a change of labels.
//   - mmv.control.debug only keeps its value. What is wrong with a file is logged in any case.
//
// # The C names
//
//	pmda_mmv.so, mmv_init      New
//	pmproxy_init               New with PMProxyName and PMProxyDomain
//	pmdammv                    examples/pmdammv
package pmdammv
