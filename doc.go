// Package pcp is the root of an implementation of Performance Co-Pilot (PCP) in pure Go. It has no
// code: this page is the map of the packages. README.md has a program for each of the first three
// kinds of users.
//
// # Monitoring tools
//
// A Go programmer imports pmapi to read metrics.
//
//	pmapi                     contexts on collectors and archives, rates, fleets, derived metrics
//	pmapi/local               contexts on agents in the same process, without a collector
//	pmapi/pmapitest           synthetic sources of metrics, for tests
//	pmapi/tool                the standard options of command-line tools
//	pmapi/export              snapshots of metrics with their metadata, for exporters
//	pmapi/export/openmetrics  a page of metrics for Prometheus, as an http.Handler
//	pmapi/export/remotewrite  metrics sent by Prometheus remote write
//	pmapi/export/otlp         metrics sent to OpenTelemetry by OTLP over HTTP
//
// # Agents
//
// A Go programmer imports pmda to export metrics of a system or a service.
//
//	pmda                      agents: tables of metrics, instance domains, events, handlers, Main
//	pmda/pmdatest             a conformance test for agents
//
// # Collectors in applications
//
// An application embeds a collector to serve its own metrics and those of ready-made agents.
//
//	pmda/collector            the collector: hosts agents and serves clients
//	pmda/pmdago               an agent: metrics of the Go runtime
//	pmda/pmdago/goexpvar      variables of package expvar, for pmdago
//	pmda/pmdalinux            an agent: metrics of the Linux kernel
//	pmda/pmdaproc             an agent: metrics of processes and control groups of Linux
//	pmda/pmdammv              an agent: metrics of programs that use mmv
//	pmda/pmdatrace            an agent: metrics of programs that use trace
//
// # Operators
//
// An operator runs examples/pmcd, see examples/pmcd/README.md, and the tools under examples. These
// packages are the engines of the servers.
//
//	pmda/collector/pmcdconf   pmcd.conf: agents, access rules, limits
//	pmapi/proxy               a proxy of the PCP protocol, as in pmproxy
//	pmapi/webapi              the REST interface of pmproxy and the page of metrics
//	archive/logger            the engine of pmlogger: records a context in an archive
//	archive/logger/record     record mode: archives of several hosts and their folio
//	archive/logger/retention  daily archives: rotated, merged, compressed, removed
//	archive/push              archives sent to another computer while they grow
//
// # Files and protocols
//
//	archive                   archives: records, metadata, cursors
//	archive/logextract        archives merged and cut, as with pmlogextract
//	archive/logimport         archives of other data, as with libpcp_import
//	archive/logreduce         archives with fewer records, as with pmlogreduce
//	archive/logrewrite        archives with changed metadata, as with pmlogrewrite
//	mmv                       instrumentation of programs by MMV files: counters, histograms
//	mmv/mmvexpvar             variables of package expvar as MMV metrics
//	pdu                       the data model and the protocol
//	pdu/pdutest               a scripted peer in memory, for tests
//	pdu/sasl                  logins: SCRAM-SHA-256, PLAIN, LOGIN, files of users
//	pmns                      name spaces: files, trees, merging
//	trace                     transactions, points and observations of programs
//
// # Compatibility
//
// These packages have version 0: exported names may change in a minor version, but not in a patch
// version. Packages below internal and examples, texts of errors and of log lines, and everything
// that a comment does not promise are not part of the API. Structs may get more fields, so name the
// fields in composite literals. The protocol, file formats, error codes and the output of the tools
// follow PCP.
package pcp
