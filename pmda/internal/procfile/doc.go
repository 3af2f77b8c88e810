// Package procfile reads and parses the text files below /proc and /sys, where a Linux kernel
// shows its state.
//
// [File] reads such a file whole, again and again, with as few system calls as possible. It keeps
// the file open, and omits the read that finds the end of the file where the length of the last
// read shows it. [KeyedFile] reads a file only as far as the requested numbers.
//
// [Lines], [CutField], [ParseUint] and their kin scan a text without allocating. [KeyedNumbers],
// [GroupedNumbers] and [NumberLine] parse the forms that many files have. [Rows] keeps the rows
// of a file about named things, such as devices. From damaged files they keep the valid parts: an
// invalid number is missing, and a last line without a newline is ignored because it has been cut
// short.
//
// A File and the values that parsers fill are for one goroutine at a time.
package procfile
