// Package tool is what the command-line tools share: their options, as pmGetOptions(3) has them, time zones, and the
// way to their collector.
//
// A tool is a Command: a table of options, most of which are standard ones.
//
//	c := &tool.Command{Name: "pmx", Synopsis: "[options] metric ..."}
//	c.Options = slices.Concat(
//		tool.Heading("General options"),
//		c.Standard("host", "namespace", "interval", "version", "help"),
//		tool.Heading("Reporting options"),
//		[]getopt.Option{
//			{Short: 'b', Long: "batch", Arg: "N", Help: "fetch N metrics at a time",
//				Set: tool.Number(&batch, 1, "-b requires numeric argument")},
//		})
//	metrics := c.Parse(os.Args[1:])
//	pc := c.Dial(ctx, c.Source())
//	c.Start(ctx, pc)
//
// Parse, Dial and Start end the program where a tool of PCP ends, with its message and exit status.
//
// Archives, local contexts, derived metrics and time control are not supported. Their options are known, since scripts
// and the environment may give them; a tool that is asked for one of these says so and ends with status 1.
package tool
