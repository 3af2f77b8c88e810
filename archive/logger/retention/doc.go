// Package retention maintains a directory of archives. Like pmlogger_daily(1), it merges the
// archives of a past day into one, compresses archives and removes old ones.
//
//	o := retention.Options{
//		Merge:         logextract.Options{}.Run,
//		Compress:      retention.Gzip(gzip.DefaultCompression),
//		CompressAfter: 24 * time.Hour,
//		Keep:          14 * 24 * time.Hour,
//		MaxBytes:      10 << 30,
//	}
//	// in place of logger.Run: begin an archive each midnight, and maintain dir
//	err := retention.Record(ctx, src, dir, logger.Options{Config: config}, o)
//
//	// or: maintain the directory of another recording program
//	err = retention.Maintain(ctx, dir, o) // once
//	err = retention.Run(ctx, dir, o)      // now, and ten minutes after each midnight
//
// No script or cron job is necessary.
//
// # Record every day
//
// [Record] begins a new archive at midnight, without a gap, and maintains the directory. From the
// command line:
//
//	go run ./examples/pmlogger --daily --keep=30days --max-size=10g -h web1 -c config \
//		-l web1.log /var/log/pcp/pmlogger/web1
//
// Its log reports what was done:
//
//	Archive basename: /var/log/pcp/pmlogger/web1/20261122.13.00
//	Archive basename: /var/log/pcp/pmlogger/web1/20261123.00.00
//	[…] pmlogger(2407) Info: pmlogger: merged 20261122.09.30 20261122.13.00 -> 20261122
//	[…] pmlogger(2407) Info: pmlogger: compressed 20261122.meta -> 20261122.meta.gz
//
// # Names of archives
//
// A directory has the archives of one host. As in PCP, a logger names a new archive YYYYMMDD.HH.MM,
// and the archives of a day become YYYYMMDD. [Base] returns such a name. A logger that does not use
// Record must itself begin a new archive at midnight.
//
// Maintain compresses and removes archives whose names are a day, YYYYMMDD or YYMMDD, or begin with
// a day and "-" or ".". It merges only archives named like those of a logger. It ignores other
// files and links.
//
// # Crashes
//
// At any moment, each record is in an archive that readers find. Files that replace others are
// complete and on disk before the first old file is removed. After a crash, the next Maintain
// completes the work.
//
// Options.Rewrite must ensure the same for its changes. After a crash in
// logrewrite.Plan.WriteInPlace, an archive may have no metadata. The complete old archive then has
// the name with ".old" and a number appended. Maintain compresses and removes it like the other
// archives of its day, but merging that day fails until the old archive is renamed back.
//
// # Concurrency
//
// Only one maintainer works on a directory at a time, in this process or another, whether it uses
// this package or PCP's scripts. A second Record of a directory fails at once; a killed Record does
// not prevent the next one. Archives that are being written are not changed.
//
// # Names in PCP
//
//	pmlogger_daily                    Maintain; with its loggers, Record
//	pmlogger_daily -k, PCP_CULLAFTER  Options.Keep
//	pmlogger_daily -x, -X, -Y         Options.CompressAfter, Compress
//	pmlogger_daily -M, -r             Options.Merge, Rewrite of nil
//	pmlogger_daily -N                 Options.DryRun
//	pmlogger_merge                    Options.Merge
package retention
