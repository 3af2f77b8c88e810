// Package tool is for command-line tools that take PCP's standard options. It parses the options,
// opens the source that they name, and finds the time window.
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
// An [Option] with a function Set is an option of the tool itself:
//
//	raw := false
//	c.AddOptions("Reporting options", tool.Option{
//		Short: 'r', Long: "raw", Help: "print counters, not their rates", Set: tool.Flag(&raw),
//	})
//
// The same tool reads collectors and archives. It moves an archive to the origin of the window with
// pmapi.Context.SetMode, and fetches until the error is pdu.ErrEOL. Functions that format single
// values are in package pdu: pdu.ValueFormat and others.
//
// Nothing in this package ends the program. The functions may be called concurrently. The package
// embeds the time zone database (time/tzdata), for systems without one.
package tool
