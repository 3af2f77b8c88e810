// Package pcptool has what only PCP's command-line tools need: their options, environment,
// messages and layouts. Package tool of pmapi is the part of it that other tools need.
//
//	func main() {
//		c := &pcptool.Command{Name: "pmx", Synopsis: "[options] metric ..."}
//		c.AddOptions("General options",
//			c.Standard("archive", "host", "samples", "interval", "version", "help")...)
//		os.Exit(c.Report(run(c, os.Args[1:])))
//	}
//
//	func run(c *pcptool.Command, args []string) error {
//		metrics, err := c.Parse(args)
//		if err != nil {
//			return err
//		}
//		pc, err := c.Open(ctx)
//		if err != nil {
//			return err
//		}
//		defer pc.Close()
//		if err := c.SetTimes(ctx, pc); err != nil {
//			return err
//		}
//		… // a pmapi.Group of metrics, at c.Interval
//	}
//
// # The command line
//
// A [Command] has a name and a table of options. Command.Standard returns standard options by their
// long names, and a tool.Option with a function Set is an option of the tool:
//
//	raw := false
//	c.AddOptions("Reporting options", tool.Option{
//		Short: 'r', Long: "raw", Help: "print counters, not their rates", Set: tool.Flag(&raw),
//	})
//
// A tool calls the methods of a Command in this order:
//
//   - [Command.Parse] reads the environment and the command line.
//   - [Command.Open] opens a context on the source.
//   - [Command.SetTimes] finds the time zone and the time window, which need the context.
//   - [Command.Report] prints an error and returns the exit status.
//
// The first three return an [*ExitError], which has the message and the exit status of PCP's tools.
// Nothing in this package ends the program.
//
// # Hints
//
// If standard error is a terminal, Report prints advice after the message of PCP's tools: the names
// that are similar to an unknown metric, why a host cannot be reached, from when to when an archive
// has values.
//
//	pminfo: Cannot connect to PMCD on host "web9": No route to host
//	hint: the host name web9 does not resolve: check its spelling, or use an IP address
//
// [WithHint] adds advice to an error, and [Command.Hint] prints it alone.
//
// # Archives
//
// The same tool reads collectors and archives. After SetTimes, a tool moves an archive to the first
// sample of the time window, with its interval, and fetches until the error is pdu.ErrEOL:
//
//	if pcptool.IsArchive(pc) {
//		err = pc.SetMode(ctx, pmapi.ModeInterp, c.Origin, interval)
//	}
//
// A tool that prints the values of one time uses [Command.FetchAtOrigin] instead.
//
// # Untrusted output
//
// A collector may send any text, including control sequences of terminals. A tool prints text
// through a terminal.EscapeWriter and names through terminal.EscapeName. [LimitMemory] limits the
// memory of a tool to three times the longest reply.
//
// # Limitations
//
// Local contexts (-L and -K) need the field Local of the Command. Without it, Parse fails with an
// error that wraps [errors.ErrUnsupported]. Live sources have only the option -T of the time
// window; -S, -A and -O need an archive, unless Command.AnyWindow is set.
//
// # The C names
//
//	Command.Parse          pmGetOptions(3)
//	Command.SetTimes       pmGetContextOptions(3), pmNewContextZone(3)
//	Elapsed                pmtimespecToReal(3)
//	Command.Usage          pmUsageMessage(3)
//	Command.Report         pmflush(3)
//	RateUnits              the conversions of pmval(1)
//	SyntaxError            texts of pmParseInterval(3), pmParseTimeWindow(3), pmParseMetricSpec(3)
//	CtimeLayout, …         pmCtime(3), pmPrintStamp(3), pmPrintHighResStamp(3)
//	Identify               pmSetClientIdArgv
//	Config                 pmGetConfig(3)
package pcptool
