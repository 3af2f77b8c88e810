// Package logtext formats texts that several commands on archives print in the same way: times, the
// label of an archive, and lists in the order of the C library's hash tables. The formats are those
// of PCP 6.0.3, byte for byte.
package logtext
