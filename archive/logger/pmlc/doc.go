// Package pmlc is the protocol of pmlc(1): it asks a running pmlogger what it records, and changes that.
//
// A [Client] is connected to one logger:
//
//	c, err := pmlc.Dial(ctx, "tcp", "localhost:4330")
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	if _, err := c.NewVolume(ctx); err != nil {
//		return err
//	}
//	states, err := c.Control(ctx, logconf.Advisory, logconf.On, 5*time.Second, []logger.Target{{PMID: desc.PMID}})
//
// A [Server] answers such clients for a [Logger], on a port and on a unix socket:
//
//	listeners, port, err := pmlc.Listen(ctx, pmlc.ListenOptions{Dir: "/run/pcp"})
//	if err != nil {
//		return err
//	}
//	s := &pmlc.Server{Logger: l, Access: access}
//	return s.Serve(ctx, listeners...)
//
// It serves one client at a time, and others get the error of EADDRINUSE.
//
// [Processes] and [Find] read the files in which loggers say where they listen, and [WriteMap] writes one.
//
// # Protocol
//
// PDUs are framed as those of a collector, see package pdu. The server begins with an ERROR that has its process id as
// the sender and the highest version that it knows, or an error; the client answers with CREDS. From then on each request
// has a reply, which may be an ERROR instead.
//
//	0x8000 LOG_CONTROL    [ControlReq]   the reply is RESULT, with a [logger.MetricState] for each metric
//	0x8001 LOG_STATUS     [Status]       of version 2
//	0x8002 LOG_REQUEST    [Request]      the reply is LOG_STATUS or an ERROR with a number
//	0x8003 LOG_STATUS     [Status]       of version 3
//
// In the C library, ConnectLogger is [Dial], __pmControlLog is [Client.Control] and [Client.Enquire], and
// __pmSendLogRequest is the rest of Client.
package pmlc
