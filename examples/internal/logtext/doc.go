// Package logtext makes texts that several commands on archives print alike: times, the label of an
// archive, and lists in the order of the C library's hash tables. It is for PCP 6.0.3's layouts,
// byte for byte.
package logtext
