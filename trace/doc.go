// Package trace tells PCP's trace agent what an application does: transactions
// and how long they take, points of the program that are passed, values that are
// observed. The agent exports counts, rates and times of each tag as the metrics
// trace.*, for all applications of a host. It answers to libpcp_trace.
//
//	c := &trace.Client{} // the agent of this host
//	defer c.Close(ctx)
//
//	sp := c.Begin("checkout")
//	defer sp.End()
//	c.Point("cart.empty")
//	c.Observe("queue.length", float64(len(queue)))
//
// # Client and Session
//
// A Client is for programs that have something else to do. Its calls cost less
// than 100 nanoseconds, never wait and never fail; a goroutine sends the data.
// Stats says exactly what became of them, and Close what was lost.
//
// A Session is for a program that wants to know of each datum whether it
// arrived, or that was written for the C library: it has its calls, codes and
// state flags, and with Compatible set its peculiarities.
//
// Data have a tag, of at most MaxTag bytes and without control characters, which
// becomes the name of an instance. Agents never forget a tag: use few, not one
// for each user or file.
//
// # Names of the C library
//
//	pmtracebegin    Client.Begin, Session.Begin
//	pmtraceend      Span.End, Session.End
//	pmtraceabort    Span.Abort, Session.Abort
//	pmtracepoint    Client.Point, Session.Point
//	pmtraceobs      Client.Observe, Session.Observe
//	pmtracecounter  Client.Counter, Session.Counter
//	pmtracestate    Session.SetState
//	pmtraceerrstr   Error.Error
//
// FromEnv reads the environment variables PCP_TRACE_*, which nothing else in
// this package does.
//
// # Protocol
//
// Agents are made of Data, Ack and Decoder. Applications send Data over TCP; the
// agent sends an Ack when it accepts a connection, and one for each Data that
// asks for it. A Client asks for one in the last Data of each batch: the others
// have arrived then too.
package trace
