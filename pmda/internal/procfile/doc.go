// Package procfile reads and parses the text files in which a Linux kernel shows
// its state: those below /proc and /sys.
//
// [File] reads such a file whole, again and again, with as few system calls as it
// takes: it keeps the file open, and needs no further read to find the end of a file where
// the length of the last read shows it. [KeyedFile] reads one only as far as the numbers
// that are wanted.
//
// [Lines], [CutField], [ParseUint] and their kin scan a text without allocating.
// [KeyedNumbers], [GroupedNumbers] and [NumberLine] parse the forms that many files
// have; [Rows] keeps what a file tells of things with names, such as devices. Of
// damaged files they keep what can be understood: a number that cannot be is not
// there, and a last line without a newline, which has been cut short, is no line.
//
// A File and the values that parsers fill are for one goroutine at a time.
package procfile
