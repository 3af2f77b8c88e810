// Package trace reports transactions, points and values of an application to PCP's trace agent.
// The agent exports their counts, rates and times as the metrics trace.*, for all applications of
// a host.
//
//	c := &trace.Client{} // the agent of this host
//	defer c.Close(ctx)
//
//	span := c.Begin("checkout") // a transaction: count and time
//	defer span.End()
//	c.Point("cart.empty")       // a point that the program passes: count
//	c.Observe("queue.length", float64(len(queue))) // a value
//
// [NewContext] and [FromContext] pass a client to code that only has a context:
//
//	ctx = trace.NewContext(ctx, c)
//	...
//	span := trace.FromContext(ctx).Begin("checkout")
//	defer span.End()
//
// [FromEnv] returns the [Config] that the environment variables PCP_TRACE_HOST, PCP_TRACE_PORT and
// others describe. Nothing else in this package reads them.
//
// # Client and Session
//
// A [Client] is for most programs. Its calls take less than 100 nanoseconds, never wait and never
// fail. A goroutine sends the data. Data that cannot be sent are dropped and counted.
// [Client.Stats] has exact counts, and [Client.Close] reports what was lost.
//
// A [Session] sends each datum at once and returns whether it arrived. It has the calls, codes and
// state flags of the C library. With Compatible set, it also has the C library's peculiarities.
//
// # Tags
//
// A datum has a tag of 1 to [MaxTag] bytes, which becomes the name of an instance. A tag does not
// begin with a space and has no control characters. Data with another tag are counted as invalid.
//
// Agents never forget a tag. Use few tags, such as one for each route of a server, not one for
// each user or file.
//
// # See the values
//
// The agent runs under a collector or in a program. In a clone of this repository, these commands
// run it under examples/pmcd:
//
//	d=/tmp/tracing
//	go build -o $d/ ./examples/pmdatrace ./examples/pmcd ./examples/pminfo
//	$d/pmdatrace --install=$d/trace
//	echo "trace 10 pipe binary $d/trace/pmdatrace -d 10 -l $d/trace.log --address=127.0.0.1" \
//		>$d/pmcd.conf
//	$d/pmcd -f -l $d/pmcd.log -p 44399 -s $d/socket -i INADDR_LOOPBACK \
//		-c $d/pmcd.conf -n $d/trace/root &
//
// Then run the application and this command:
//
//	$d/pminfo -h localhost:44399 -f trace.point.count trace.transact
//
// Counts and trace.transact.total_time are available at once. Rates and average, least and
// greatest times appear after the first interval of 12 seconds. A rate is computed over the whole
// period of 60 seconds, so it is too low during the first minute.
//
// Package [github.com/pcp-go/pcp/pmda/pmdatrace] is the agent for a collector in a program. The
// program examples/tracedemo reports data as PCP's trace demos do.
//
// # Testing
//
// With NoAgent, a client counts what is reported and sends nothing:
//
//	c := &trace.Client{Config: trace.Config{NoAgent: true}}
//	...
//	n := c.Stats().Accepted
//
// So does the client of FromContext for a context without a client. The example Test of package
// pmdatrace runs an agent in the test and checks the exported values.
//
// # If data are missing
//
// If the log says "trace: no connection to the agent", or Close returns "data not sent", no agent
// listens on port 4323:
//
//   - Only one agent can use the port. A second one ends with "port for applications: ... address
//     already in use" in its log. This is trace.log in the directory where it was started, or the
//     file of -l.
//   - If the agent has another port, with the option -I, set Port or PCP_TRACE_PORT.
//
// Data that Close reports as refused have an invalid tag: see Tags.
//
// # Protocol
//
// Applications send one PDU for each datum over TCP. The agent acknowledges the connection, and
// each datum that requests it. A Client requests it for the last datum of each batch, which
// confirms the others too.
//
// # Names in the C library
//
// This package is the counterpart of libpcp_trace.
//
//	pmtracebegin    Client.Begin, Session.Begin
//	pmtraceend      Span.End, Session.End
//	pmtraceabort    Span.Abort, Session.Abort
//	pmtracepoint    Client.Point, Session.Point
//	pmtraceobs      Client.Observe, Session.Observe
//	pmtracecounter  Client.Counter, Session.Counter
//	pmtracestate    Session.SetState
//	pmtraceerrstr   Error.Error
package trace
