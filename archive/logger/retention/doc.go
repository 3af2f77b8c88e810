// Package retention keeps a directory of archives in order. It merges the archives of a past day
// into one, compresses archives and removes old ones, as pmlogger_daily(1) does.
//
//	o := retention.Options{
//		Merge:         logextract.Options{}.Run,
//		Compress:      retention.Gzip(gzip.DefaultCompression),
//		CompressAfter: 24 * time.Hour,
//		Keep:          14 * 24 * time.Hour,
//		MaxBytes:      10 << 30,
//	}
//	// in place of logger.Run: another archive from each midnight on, and maintenance of dir
//	err := retention.Record(ctx, src, dir, logger.Options{Config: config}, o)
//
//	// or: maintain the directory of another program that records
//	err = retention.Maintain(ctx, dir, o) // once
//	err = retention.Run(ctx, dir, o)      // now, and ten minutes after each midnight
//
// It needs no script and no cron job.
//
// # Record every day
//
// [Record] begins another archive at midnight, without a gap, and maintains the directory. From the
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
// A directory has the archives of one host. A logger that begins an archive names it
// YYYYMMDD.HH.MM, and the archives of a day become YYYYMMDD. These names are those of PCP. [Base]
// makes such a name. A logger that does not use Record begins another archive at midnight.
//
// Maintain compresses and removes archives whose names begin with a day, YYYYMMDD or YYMMDD, that
// ends the name or is followed by "-" or ".". It merges only those that a logger began. It leaves
// other files and links alone.
//
// # Crashes
//
// At any moment each record is in an archive that can be read by its name. Files that replace
// others are complete, and on the disk, before the first of the others is removed. After a crash
// the next Maintain completes what was begun.
//
// Options.Rewrite must ensure the same for its changes. After a crash in
// logrewrite.Plan.WriteInPlace, an archive may have no metadata. The complete old archive is then
// beside it, with ".old" and a number after its name. Maintain keeps, compresses and removes it
// like the other archives of its day, but merging that day is an error until it has its old name
// again.
//
// # Concurrency
//
// Only one maintainer works on a directory at a time, in this process or another, whether it uses
// this package or PCP's scripts. A second Record of a directory fails at once; a Record that was
// killed does not prevent the next. An archive that is being written is not touched.
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
