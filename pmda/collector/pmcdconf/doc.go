// Package pmcdconf reads pmcd.conf, the configuration file of a PCP collector: the
// lines of agents and the sections of limits and of access.
//
//	cfg, err := pmcdconf.Load("/etc/pcp/pmcd/pmcd.conf")
//	if cfg == nil {
//		return err
//	}
//	srv := &collector.Server{Access: cfg.Access}
//	for _, agent := range cfg.Agents {
//		err = errors.Join(err, srv.StartAgent(agent))
//	}
//
// collector.Server.Configure takes a whole Config, while the Server runs too.
//
// # Agents
//
// A line for each agent, in one of three forms, the counterpart of what an
// agent's Install script writes:
//
//	NAME DOMAIN dso    ENTRY PATH
//	NAME DOMAIN socket inet|ipv6|unix ADDRESS [ARGV...]
//	NAME DOMAIN pipe   binary [notready] ARGV...
//
// # Access
//
// After the line "[access]", statements say who may fetch and store, and how many
// connections there may be at a time:
//
//	allow "local:" : all;
//	disallow .* : store;
//	allow 10.1.* : maximum 20 connections;
//	allow users pcp, root : all;
//
// Names of hosts and accounts are looked up while the file is read. Access has
// the resulting rules as plain data, which a program may also make itself.
//
// # Limits
//
// Before an access section there may be one with limits for each client, which C pmcd has
// not:
//
//	[limits]
//	requests : 1000;     # a second
//	bytes    : 10000000; # of requests and replies, a second
//	contexts : 16;
//	logins   : 10;       # that fail, of an address, a minute; 100 if it is not given
//
// # Errors
//
// Errors and warnings have the texts of pmcd 6.0.3, each an Error. A text that
// makes pmcd crash or misread is an error here.
package pmcdconf
