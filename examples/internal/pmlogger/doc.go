// Package pmlogger is the command pmlogger(1): its options, the texts of its log, and the files by
// which other programs find it. Package archive/logger does the recording.
package pmlogger
