// Package timecontrol is the protocol by which a time control server, pmtime, steps programs through time together: through an
// archive, or live.
//
// A program that has the options -g and -p of PCP's tools is a client:
//
//	set := timecontrol.Message{Source: timecontrol.SourceArchive, Delta: time.Second, Position: begin, Start: begin, End: end, Zone: "UTC"}
//	conn, err := timecontrol.Dial(ctx, port, set) // -p, or Start for -g
//	if err != nil {
//		return err
//	}
//	defer conn.Close()
//	control := &timecontrol.Control{Conn: conn, Context: pc, Delta: set.Delta}
//
// and Control says how it goes on. A Server is the other side, without a window: programs that are tried together on an
// archive, the C ones too, get the same positions from it.
//
// The protocol is for programs of one computer: messages are in its byte order, and have the types of C on 64-bit systems.
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
