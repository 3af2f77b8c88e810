// Package timecontrol steps several programs through time together: through an archive, or live.
// It has the protocol of PCP's time control server pmtime, the client side and a server without a
// window.
//
//	set := timecontrol.Message{
//		Source: timecontrol.SourceArchive, Delta: time.Second,
//		Position: begin, Start: begin, End: end, Zone: "UTC",
//	}
//	conn, err := timecontrol.Dial(ctx, port, set) // or Start, which starts pmtime
//	if err != nil {
//		return err
//	}
//	defer conn.Close()
//	control := &timecontrol.Control{Conn: conn, Context: c, Delta: set.Delta}
//	for {
//		if err := control.Next(ctx); err != nil {
//			return err // io.EOF when the server has ended
//		}
//		… // fetch from c and print
//		if err := control.Done(); err != nil {
//			return err
//		}
//	}
//
// # Clients
//
// A program with the options -g and -p of PCP's tools is a client: it uses [Start] for -g and
// [Dial] for -p. A [Control] sets the position and the interval of a pmapi.Context on an archive,
// and reports other changes to its function Notify. Package tool has the options: see
// pcptool.Command.TimeControl.
//
// # Servers
//
// A [Server] gives all its clients the same positions. It also serves the programs of PCP that are
// written in C. The program examples/pmtime is this server.
//
// # Protocol
//
// The protocol is for programs on one computer. Messages are in its byte order and have the C types
// of 64-bit systems.
//
// # The C names
//
//	pmTimeConnect, pmTimeDisconnect   Dial, Start, Conn.Close
//	pmTimeRecv, pmTimeSendAck         Conn.Receive, Conn.Ack
//	pmTimeShowDialog                  Conn.Show
//	pmTimeStateSetup                  Control
//	pmTimeStateVector                 Control.Next
//	pmTimeStateAck, pmTimeStateBounds Control.Done, Control.AtEnd
package timecontrol
