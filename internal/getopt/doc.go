// Package getopt parses command lines as PCP's tools do, that is as getopt_long of the GNU C
// library does, and prints their usage messages. A program is a table:
//
//	s := getopt.Set{
//		Program: "pmx",
//		Synopsis: "[options] metric ...",
//		Options: []getopt.Option{
//			{Heading: "General options"},
//			{Short: 'h', Long: "host", Arg: "HOST", Help: "metrics source is PMCD on host",
//				Set: func(v string) error { host = v; return nil }},
//			{Short: '?', Long: "help", Help: "show this usage message and exit",
//				Set: getopt.Usage},
//		},
//	}
//	metrics, errs := s.Parse(os.Args[1:])
package getopt
