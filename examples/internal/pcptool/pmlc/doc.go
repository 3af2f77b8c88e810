// Package pmlc is the protocol of pmlc(1): a client asks a running logger what it records, and
// changes that.
//
//	c, err := pmlc.Dial(ctx, "tcp", "localhost:4330")
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	status, err := c.Status(ctx) // host, times, volume and size
//	if err != nil {
//		return err
//	}
//	fmt.Println(status.Host, status.Volume, status.Size)
//	targets := []logger.Target{{PMID: desc.PMID}}
//	states, err := c.Control(ctx, logger.Advisory, logger.On, 5*time.Second, targets)
//
// # Ask a logger
//
// [Dial] connects to one logger, by its port or its unix socket. [Client.Status] describes the
// logger, [Client.Enquire] how metrics are recorded. [Client.Control] changes that,
// [Client.NewVolume] begins another volume, and [Client.Sync] flushes the archive.
//
// The loggers of this computer write map files, which say where they listen, into the directory
// [MapDir]. [Processes] and [Find] read these files.
//
// # Serve a logger
//
// A [Server] answers clients on behalf of a [Logger], on a port and on a unix socket:
//
//	access, err := pmlc.NewAccess(config.Rules) // the section [access] of the configuration
//	…
//	listeners, port, err := pmlc.Listen(ctx, pmlc.ListenOptions{Dir: "/run/pcp"})
//	if listeners == nil {
//		return err
//	}
//	s := &pmlc.Server{Logger: l, Access: access} // l is a *logger.Logger
//	return s.Serve(ctx, listeners...)
//
// It serves one client at a time. Others get the error EADDRINUSE, unless that client has had no
// request for a minute: then it is disconnected. Clients may begin ten volumes at once, and one
// more each minute; further requests get pdu.ErrAgain. [WriteMap] writes the map file
// of the logger, so that clients on this computer find it; [RemoveMap] removes the file.
//
// # Protocol
//
// PDUs are framed as those of a collector, see package pdu. The server begins with an ERROR. Its
// sender is the process id of the server, and its code an error or the highest version that the
// server supports. The client answers with CREDS. From then on each request has a reply, which may
// be an ERROR instead.
//
//	0x8000 LOG_CONTROL    ControlReq  the reply is RESULT, a logger.MetricState for each metric
//	0x8001 LOG_STATUS     Status      of version 2
//	0x8002 LOG_REQUEST    Request     the reply is LOG_STATUS or an ERROR with a number
//	0x8003 LOG_STATUS     Status      of version 3
//
// # Names in the C library
//
//	ConnectLogger        Dial
//	__pmControlLog       Client.Control, Client.Enquire
//	__pmSendLogRequest   Client.Status, Client.NewVolume, Client.Sync, Client.QA
package pmlc
