// Package commandlines holds no code: its test runs the command lines in testdata with the tools of the real PCP and with
// ours, on the same collectors, and compares.
//
//	go test ./examples/internal/commandlines -run CommandLines/pmval     the lines of one table
//	go test ./examples/internal/commandlines -same                      the real tools with themselves
//
// The latter finds lines that need a mask, because they write something else each time.
package commandlines
