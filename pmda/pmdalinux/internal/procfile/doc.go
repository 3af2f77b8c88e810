// Package procfile reads and parses the text files in which a Linux kernel shows
// its state: those below /proc and /sys.
//
// [File] reads such a file whole, again and again, with as few system calls as it
// takes: it keeps the file open, and does not ask for the end of a file where the
// length of what has been read tells that this was all.
//
// A File and the values that parsers fill are for one goroutine at a time.
package procfile
