// Package twin runs command lines twice, with a tool of the real PCP and with ours of the same name, and compares what
// they write to standard output and standard error, and their exit status. It is for tests alone.
//
//	lines, err := twin.Read("testdata/pminfo.lines", map[string]string{"H": pmcd.Host()})
//	r := twin.Runner{Program: func(tool string) string { return pcptest.Build(t, "./examples/"+tool) }}
//	for _, line := range lines {
//		if diff := r.Compare(t, line); diff != "" { ... }
//	}
//
// # Tables
//
// A line of a table is a command line as a shell reads it: words with quotes and backslashes, $NAME and ${NAME} for
// variables of the table's reader, and NAME=VALUE in front for the environment.
//
//	pminfo -h $H -f sample.long.one 'sample.bin'
//	PCP_HOST=$H pmval -s 1 "sample.colour[red]"
//
// Lines that begin with "#" are comments. Those that begin with "%" hold for the lines below them:
//
//	%part NAME         starts a part, in which nothing holds of what was said before
//	%before COMMAND    is run with the real PCP before each of the two runs, after others like it; alone, clears them
//	%mask NAME ...     is left out of the comparison; alone, nothing is
//	%differs REASON    the two differ on purpose; holds for one line
//
// The masks are
//
//	date       as ctime(3) writes it
//	time       10:20:30 or 10:20:30.123
//	minute     the same from the minutes on, so that a zone shows
//	digits     each digit; the layout stays
//	numbers    with the blanks around them
//	bytes      the hexadecimal digits of an aggregate
//
// Each run has an empty working directory of its own.
package twin
