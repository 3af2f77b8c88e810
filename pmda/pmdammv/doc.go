// Package pmdammv is PCP's agent mmv in Go. It serves the metrics of programs that are
// instrumented with package [github.com/pcp-go/pcp/mmv] or libpcp_mmv: from MMV files, and from
// Registries in the same process. A program serves its own metrics without a file:
//
//	shop := &mmv.Registry{Name: "shop"}
//	waiting := shop.Gauge("waiting", mmv.Metric{Text: "Orders that wait"})
//
//	srv := &collector.Server{}
//	if err := srv.Add(pmdammv.Of(shop)); err != nil {
//		log.Fatal(err)
//	}
//	ln, err := net.Listen("tcp", "localhost:44321")
//	if err != nil {
//		log.Fatal(err)
//	}
//	go srv.Serve(ctx, ln)
//	waiting.Set(3) // pminfo -h localhost -f mmv.shop.waiting
//
// [New] also serves a directory of files:
//
//	err := srv.Add(pmdammv.New(pmdammv.Options{
//		Registries: []*mmv.Registry{shop},
//		Dir:        "/var/lib/pcp/tmp/mmv", // mmv in $PCP_TMP_DIR
//	}))
//
// The program examples/pmdammv is the agent for a pmcd, in place of PCP's. examples/pmcd has it
// built in. A program that only writes a file, with Registry.Publish, does not need this package.
//
// # Names and numbers
//
// The metric "requests" of the file or Registry "shop" is mmv.shop.requests. Names consist of
// letters, digits, underscores and, between them, dots; others are not served, such as those of a
// Registry named "my-app". A PMID has the domain 70, the cluster of the file and the item of the
// metric. A file without a cluster gets the first free one.
//
// Files with the same cluster share metrics and instance domains. The first file that has a value
// of a metric, or a name of an instance, takes precedence. Descriptors, help texts, labels,
// elapsed times in progress and missing values are those of the C agent.
//
// # Changes
//
// Each request checks whether files were added, replaced, changed or removed, and whether their
// processes have ended. Only files that changed are read again. With many files, a request checks
// those that it reads and some of the others in turn. Clients learn of new names with their next
// fetch. A store into mmv.control.reload reads all files again.
//
// A file that is being written is not served until it is complete. The agent waits briefly for a
// file that only grows, as those of package mmv do.
//
// # Damaged files
//
// The agent serves the valid parts of a damaged file and logs the flaws once. Other files are not
// affected. Files are read and never mapped into memory, so a file that shrinks cannot harm the
// agent. The number of files and their contents are limited.
//
// # If metrics are missing
//
// See the same heading in package mmv: the program and the agent must use the same directory, and
// the process that wrote a file must be alive unless its Registry.Process is mmv.ProcessOff.
//
// # Differences from the agent of PCP 6
//
//   - NaN means "no value" in a file that has such values, as in PCP 7.
//   - Help texts of instance domains, and of metrics without values, are found.
//   - Labels of a file without a cluster belong to the cluster that the file gets.
//   - A metric of type aggregate, or a file that shrinks while it is served, ends the C agent and
//     its collector. Here it does not.
//   - A file that was empty or incomplete at first is found when it is complete.
//   - New instances alone are not a change of names. New labels are a change of labels.
//   - mmv.control.debug only keeps its value. Flaws of a file are logged in any case.
//
// # Names in C
//
//	pmda_mmv.so, mmv_init      New
//	pmproxy_init               New with PMProxyName and PMProxyDomain
//	pmdammv                    examples/pmdammv
package pmdammv
