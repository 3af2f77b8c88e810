// Package pmcdconf reads pmcd.conf, the configuration file of a PCP collector: the lines of agents
// and the sections of limits and of access.
//
//	conf, err := pmcdconf.Load("/etc/pcp/pmcd/pmcd.conf")
//	if conf == nil {
//		return err
//	}
//	srv := &collector.Server{Access: conf.Access, Limits: conf.Limits}
//	for _, agent := range conf.Agents {
//		err = errors.Join(err, srv.StartAgent(agent))
//	}
//
// collector.Server.Configure takes a whole Config, also while the Server runs.
//
// # Agents
//
// Each line describes an agent in one of three forms, as an agent's Install script writes it:
//
//	NAME DOMAIN dso    ENTRY PATH
//	NAME DOMAIN socket inet|ipv6|unix ADDRESS [ARGV...]
//	NAME DOMAIN pipe   binary [notready] ARGV...
//
// A dso line names an agent in the collector's own program by its entry point: see
// collector.Server.DSO. For a socket line without ARGV the agent is already running and listens.
//
// # Access
//
// After the line "[access]", statements permit fetches and stores, and limit the connections that a
// host or an account may have at a time:
//
//	allow "local:" : all;
//	disallow .* : store;
//	allow 10.1.* : maximum 20 connections;
//	allow users pcp, root : all;
//
// Names of hosts and accounts are looked up while the file is read. [Access] has the resulting
// rules as plain data, which a program may also create itself.
//
// # Limits
//
// A section with limits for each client may precede the access section. C pmcd does not have it:
//
//	[limits]
//	requests : 1000;     # per second
//	bytes    : 10000000; # of requests and replies per second
//	contexts : 16;
//	logins   : 10;       # failed logins per minute of a user from an address; default 100
//
// # Errors
//
// Errors and warnings have the texts of pmcd 6.0.3. Input that makes pmcd crash or misread the file
// is an error here.
package pmcdconf
