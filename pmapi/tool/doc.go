// Package tool is for programs that are used like PCP's own tools: it has their standard options, opens the source
// that the options name, selects instances, and prints numbers in columns as pmval(1) does.
//
// A tool is a [Command]: a name and a table of options, most of which are standard ones.
//
//	func main() {
//		c := &tool.Command{Name: "pmx", Synopsis: "[options] metric"}
//		c.AddOptions("General options", c.Standard("host", "namespace", "samples", "interval", "version", "help")...)
//		raw := false
//		c.AddOptions("Reporting options",
//			tool.Option{Short: 'r', Long: "raw", Help: "print counters, not their rates", Set: tool.Flag(&raw)})
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
//		…
//	}
//
// [Command.Parse] reads the environment and the command line, [Command.Open] opens a context on the source, and
// [Command.SetTimes] finds the zone and the time window once there is a context. Each may return an
// [*ExitError], which has the message and the exit status of PCP's tools; [Command.Report] prints it. Nothing in this
// package ends the program.
//
// What a collector sends is not trusted. A tool that prints it to a terminal does so through an [EscapeWriter], and names
// through [EscapeName]; [LimitMemory] keeps the memory of a tool within three times the longest reply.
//
// The package's example is a whole tool that prints the values of a metric as pmval(1) does. What tools need of values alone
// is in package pdu: pdu.ValueFormat formats them and pdu.ParseAtom parses them.
//
// # What is not supported
//
// Local contexts are not supported unless the Command has agents for them, its field Local: Parse then fails with an error that
// wraps [errors.ErrUnsupported].
// Of the time window, live sources have only -T; -S, -A and -O need an archive.
//
// # Archives
//
// The same tool runs on a collector and on archives. After [Command.SetTimes] it goes to the start of its time window, with
// the interval as the step, and fetches until the error is pdu.ErrEOL:
//
//	if tool.IsArchive(pc) {
//		err = pc.SetMode(ctx, pmapi.ModeInterp, c.Origin, interval)
//	}
//
// A tool that prints the values of one time has [Command.FetchAtOrigin] instead.
//
// # In the C library
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
//
// The package embeds the time zone database (time/tzdata), for systems without one.
//
// A Command is for one goroutine at a time; the functions may be called by several.
package tool
