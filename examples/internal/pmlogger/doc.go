// Package pmlogger is the command pmlogger(1): its options, the texts of its log, and the files by
// which others find it. What is recorded is the business of package archive/logger.
package pmlogger
