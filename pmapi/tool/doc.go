// Package tool is for command-line programs with the options and the output of PCP's tools. It
// parses the standard options, opens the source that they name, finds the time window and the
// instances, and prints numbers in columns as pmval(1) does.
//
//	func main() {
//		c := &tool.Command{Name: "pmx", Synopsis: "[options] metric ..."}
//		c.AddOptions("General options",
//			c.Standard("archive", "host", "samples", "interval", "version", "help")...)
//		os.Exit(c.Report(run(c, os.Args[1:])))
//	}
//
//	func run(c *tool.Command, args []string) error {
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
// The example of this package, in the file example_test.go, is a whole tool of about 60 lines that
// prints the values of a metric as pmval(1) does.
//
// # The command line
//
// A [Command] has a name and a table of options. Command.Standard returns standard options by their
// long names, and an [Option] with a function Set is an option of the tool:
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
//	if tool.IsArchive(pc) {
//		err = pc.SetMode(ctx, pmapi.ModeInterp, c.Origin, interval)
//	}
//
// A tool that prints the values of one time uses [Command.FetchAtOrigin] instead.
//
// # Values
//
// A [Column] formats numbers as pmval does, and [RateUnits] has the units of rates. Functions for
// single values are in package pdu: pdu.ValueFormat formats them, and pdu.ParseAtom parses them.
// Package report writes whole tables as pmrep(1) does.
//
// # Untrusted output
//
// A collector may send any text, including control sequences of terminals. A tool prints text
// through an [EscapeWriter] and names through [EscapeName]. [LimitMemory] limits the memory of a
// tool to three times the longest reply.
//
// # Limitations
//
// Local contexts (-L and -K) need the field Local of the Command. Without it, Parse fails with an
// error that wraps [errors.ErrUnsupported]. Live sources have only the option -T of the time
// window; -S, -A and -O need an archive, unless Command.AnyWindow is set.
//
// # Concurrency
//
// A Command is for one goroutine at a time. The functions may be called concurrently.
//
// # Time zones
//
// The package embeds the time zone database (time/tzdata), for systems without one.
//
// # The C names
//
//	Command.Parse          pmGetOptions(3)
//	Command.SetTimes       pmGetContextOptions(3), pmNewContextZone(3)
//	Elapsed                pmtimespecToReal(3)
//	Command.Usage          pmUsageMessage(3)
//	Command.Report         pmflush(3)
//	RateUnits, Column      the conversions and formats of pmval(1)
//	LoadZone               pmNewZone(3), tzset(3)
//	CtimeLayout, …         pmCtime(3), pmPrintStamp(3), pmPrintHighResStamp(3)
//	Identify               pmSetClientIdArgv
//	Config                 pmGetConfig(3)
package tool
