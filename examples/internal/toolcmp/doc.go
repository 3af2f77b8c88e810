// Package toolcmp compares our tools with the tools of the real PCP that have the same names: it
// runs a command line with both and compares standard output, standard error and the exit status.
// It is only for tests.
//
//	lines, err := toolcmp.ReadTable("testdata/pminfo.lines", map[string]string{"H": pmcd.Host()})
//	r := toolcmp.Runner{Program: func(tool string) string {
//		return pcptest.Build(t, "./examples/"+tool)
//	}}
//	for _, line := range lines {
//		if diff := r.Compare(t, line); diff != "" { ... }
//	}
//
// The package's own test runs the tables in testdata:
//
//	go test ./examples/internal/toolcmp -run CommandLines/pmval     the lines of one table
//	go test ./examples/internal/toolcmp -same                       the real tools with themselves
//
// The latter finds lines that need a mask because the output of the real tools changes each time.
//
// # Tables
//
// A line of a table is a command line as a shell reads it: words with quotes and backslashes, $NAME
// and ${NAME} for the variables given to ReadTable, and NAME=VALUE in front for the environment.
//
//	pminfo -h $H -f sample.long.one 'sample.bin'
//	PCP_HOST=$H pmval -s 1 "sample.colour[red]"
//
// Lines that begin with "#" are comments. Lines that begin with "%" are directives for the lines
// below them:
//
//	%part NAME         starts a part, which cancels all directives above
//	%before COMMAND    runs with the real PCP before each of the two runs; several run in
//	                   order; alone, clears them
//	%env NAME=VALUE ... sets the environment unless a line overrides it; alone, clears it
//	%mask NAME ...     masks differences between two runs; alone, nothing is masked
//	%differs REASON    allows a difference in the next line
//
// The masks are
//
//	date       as ctime(3) writes it
//	time       10:20:30 or 10:20:30.123
//	minute     the same from the minutes on, so that the zone stays visible
//	digits     each digit; the layout stays
//	amounts    numbers with a scale after them, as pmstat's
//	numbers    with the blanks around them
//	bytes      the hexadecimal digits of an aggregate
//
// Each run has an empty working directory.
package toolcmp
