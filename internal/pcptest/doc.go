// Package pcptest lets tests use the real PCP: its tools, its pmcd, its agents, and recordings of
// the PDUs that they exchange. It is for tests alone and imports nothing of this module.
//
// # Tools
//
// A test that talks to the real PCP starts with [Need], which skips it where PCP is not
// installed (or fails it, with PCP_INTEROP=require in the environment). The functions that use
// PCP or gcc call Need too: a test that forgets it is skipped as well. [BuildC] compiles a C
// program. [Run] runs a tool to its end:
//
//	pcptest.Need(t, "pmcd", "pminfo")
//	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample"}})
//	out, errs, status := pcptest.Run(t, nil, "", "pminfo", "-h", pmcd.Host(), "-f", "sample.bin")
//
// Commands see no derived metrics, the C locale and UTC, so that their output is the same
// everywhere. [RunAll] runs several at the same time. Values that change between two commands are
// compared with [Retry].
//
// [Oracle] asks the C library itself, many questions at once. Those that are random are a sample;
// with -oracle.every=1 and -oracle.seed=0 they are a million, and others at each time:
//
//	go test -run 'Interop' ./pdu ./pmapi ./pmapi/tool -args -oracle.every=1 -oracle.seed=0
//
// # Servers
//
// [StartPMCD] runs a private C pmcd with the shipped agents, others, or both. [Build] builds one of
// our programs and [Start] runs it, or any other server:
//
//	set := pcptest.Agents(t, "sample", "linux") // lines of pmcd.conf, name space, environment
//	port := pcptest.FreePort(t)
//	p := pcptest.Start(t, pcptest.Daemon{
//		Path: pcptest.Build(t, "./examples/pmcd"),
//		Args: []string{"-p", strconv.Itoa(port), ...},
//		Env:  set.Env,
//		Addr: fmt.Sprintf("localhost:%d", port), Greets: true,
//	})
//
// Servers listen on the loopback interface, write only into directories of the test, and have
// ended, with their agents, when the test has. [BuildAgent] compiles the agents that PCP ships as
// source, [DBPMDA] runs the dbpmda tool on a script, and [RunScript] does so with the scripts for
// simple and trivial: C and Go agents must give the same.
//
// # Captures
//
// [Record] puts a proxy between clients and a server and keeps the PDUs; the program stdiotap does
// so between a collector and a pipe agent. [WriteCapture] and [ReadCapture] keep them in files such
// as this one:
//
//	# made by pminfo -d hinv.ncpu
//
//	== connection 1
//	# version 2, features DESCS|HIGHRES|LABELS|CONTAINER|AUTH
//	< 00000014 00007000 00000000 00000000 02010e44
//	> 00000014 0000700c 0000751e 00000001 01020000
//
// One line is one whole PDU in hexadecimal; blanks do not matter. "> " goes to the server: from a
// client to its collector, or from a collector to its agent. "< " is the way back. A line "==
// TITLE" starts a connection, and lines of "# " directly above a PDU belong to it.
package pcptest
