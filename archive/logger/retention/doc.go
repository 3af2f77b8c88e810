// Package retention keeps a directory of archives in order, as pmlogger_daily(1) of Performance Co-Pilot does: the archives of a past
// day become one, old ones are compressed and at last removed. It is a library, without a script or a daemon of its own: a logger, or
// a program that embeds one, calls [Maintain], has [Run] do that each day, or [Record] do it all: begin an archive each midnight, too.
//
//	o := retention.Options{
//		Merge:         logextract.Options{}.Run,
//		Compress:      retention.Gzip(gzip.DefaultCompression),
//		CompressAfter: 24 * time.Hour,
//		Keep:          14 * 24 * time.Hour,
//		MaxBytes:      10 << 30,
//	}
//	err := retention.Maintain(ctx, "/var/log/pcp/pmlogger/web1", o)
//
// # Names
//
// A directory has the archives of one host. Their base names are those of PCP: YYYYMMDD.HH.MM is when a logger began an archive, and
// YYYYMMDD what the archives of that day become. As PCP's scripts do, Maintain compresses and removes all archives with names that begin
// with a day, YYYYMMDD or YYMMDD, and then end, or go on with "-" or "."; it merges only those that a logger began. Other files
// are left alone, and so are links. [Base] makes such a name, and [NextDay] is when a logger other than Record's should begin
// another archive.
//
// # Crashes
//
// At any moment, each record is in an archive that can be read by its name: the files that replace others are complete, and on the
// disk, before the first of those is removed. What a crash has left undone, the next Maintain completes.
//
// Options.Rewrite has to see to that itself. After a crash in logrewrite.Plan.WriteInPlace, an archive may have no metadata: the old one
// is there then, complete, with a name that goes on with ".old". It is kept, compressed and removed as others of its day are, and
// the merging of that day is an error until somebody gives it back its name.
//
// # Concurrency
//
// Two maintainers of a directory exclude each other, whether they are in one process or not, and whether the other is this package or
// PCP's. An archive that is being written is not touched.
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
