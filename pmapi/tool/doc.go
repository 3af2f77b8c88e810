// Package tool is for command-line tools that take PCP's standard options. It parses the options,
// opens the source that they name, and computes the time window.
//
//	func main() {
//		c := &tool.Command{Name: "myval", Synopsis: "[options] metric"}
//		c.AddOptions("General options",
//			c.Standard("archive", "host", "samples", "interval", "finish", "version", "help")...)
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
//		window, err := c.Window(ctx, pc)
//		if err != nil {
//			return err
//		}
//		… // a pmapi.Group of metrics, at c.Interval
//	}
//
// The example of this package is a whole tool, which prints the values of a metric.
//
// A tool adds its own options as [Option] values with a function Set:
//
//	raw := false
//	c.AddOptions("Reporting options", tool.Option{
//		Short: 'r', Long: "raw", Help: "print counters, not their rates", Set: tool.Flag(&raw),
//	})
//
// A tool reads collectors and archives with the same code. On an archive it first sets the position
// to the origin of the window with pmapi.Context.SetMode, and a loop over pmapi.Context.Fetch ends
// with pdu.ErrEOL. Functions that format single values are in package pdu: pdu.ValueFormat and
// others.
//
// Nothing in this package ends the program. The functions may be called concurrently. The package
// embeds the time zone database (time/tzdata), for systems without one.
package tool
