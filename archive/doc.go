// Package archive reads and writes the archives of Performance Co-Pilot (PCP), versions 2 and 3,
// which pmlogger(1) and similar programs record.
//
//	set, err := archive.Open(ctx, "/var/log/pcp/pmlogger/web1/20261123")
//	if err != nil {
//		return err // names the file and the offset; errors.Is finds pdu.ErrLabel and others
//	}
//	defer set.Close()
//	c := set.Cursor()
//	for err = c.Next(); err == nil; err = c.Next() {
//		r, err := c.Result() // the values of this time
//		if err != nil {
//			return err
//		}
//		fmt.Println(c.Time(), r.Len(), "metrics")
//	}
//	if !errors.Is(err, pdu.ErrEOL) { // the end of the archive
//		return err
//	}
//
// # Which package to use
//
// This package gives access to the records of an archive as they are stored.
//
//   - To read metrics by name, with rates, units and interpolation: pmapi.Open.
//   - To record a host or a program: archive/logger. Package archive/logger/retention begins an
//     archive each day and removes old ones; archive/logger/record is the record mode of monitors.
//   - To make an archive from logs, tables or the output of other tools: archive/logimport.
//   - To merge archives or take parts of them: archive/logextract.
//   - To reduce the number of records: archive/logreduce.
//   - To rename metrics or change their descriptions: archive/logrewrite.
//   - To send archives to another computer: archive/push.
//
// # Names and sets
//
// An archive consists of files with a common base name:
//
//   - BASE.meta has descriptors, names, instance domains, labels and help texts.
//   - BASE.0, BASE.1 and so on, the volumes, have the values.
//   - BASE.index says where to find a time. It may be missing.
//
// Each file may be compressed. [Open] accepts a base name, the name of one of the files, a
// directory, or several of these separated by commas. They make a [Set]: archives in the order of
// time, read as one. Between two archives the set has a mark, as if it were recorded: values and
// rates do not continue from one archive to the next. If one of several archives is damaged, the
// others are still read; Options.Damaged lets a program decide.
//
// [Options] also opens archives in an fs.FS, such as a zip file or an object store.
//
// # Read records
//
// A [Cursor] reads data records in the order of time, forward and backward. SeekNext and SeekPrev
// find a time with the index. [Cursor.Select] decodes only some metrics, without allocating.
// [Metadata] has everything except values, by identifier and time. Programs that check or rewrite
// archives use [Set.Records] and [File.Records], which return the records of the files unchanged.
//
// # Write an archive
//
// A [Writer] makes an archive, or continues one, record by record. The files are a valid archive
// after each record, unless WriterOptions.Buffer is set. Programs with values from elsewhere use
// archive/logimport, which is built on it.
//
// # Move and repair archives
//
// Files.Paths lists all files of an archive, in the right order for a program to move them.
// [RepairOptions] repairs an archive with a truncated file, or with a missing or damaged index or
// label.
//
// If a single archive ends inside a record, a Cursor returns an error after the last complete
// record. [Set.CheckEnd] reports such an end to programs that stop reading earlier.
//
// # Archives that are being written
//
// A Cursor at the end sees records that are appended later. [Set.Refresh] looks for new metadata
// and volumes.
//
// # Memory and concurrency
//
// A Set, its Archives and its Metadata are safe for concurrent use, and any number of cursors
// share them. A Cursor is for one goroutine at a time. Metadata is kept in memory. Volumes are read
// as needed, through a buffer of each cursor.
//
// A compressed file is unpacked once for all sets of the process, into a temporary file. A file is
// refused if it unpacks to more than 64 MiB and more than 500 times its size, or to more than 8
// GiB; see Options.MaxUnpacked. It is also refused if it would leave less than 1/32 of the
// temporary directory's file system free, or less than 256 MiB if that is less.
//
// This package reads .gz and .bz2. It reads other formats with the command that PCP uses, such as
// xz(1).
//
// # Names in the C library
//
//	pmNewContext(PM_CONTEXT_ARCHIVE)   Open, Set.Cursor
//	pmGetArchiveLabel                  Set.Label
//	pmGetArchiveEnd                    Set.End
//	pmFetchArchive                     Cursor.Next, Cursor.Prev, Cursor.Result
//	pmSetMode                          Cursor.SeekNext, Cursor.SeekPrev
//	pmLookupDesc                       Metadata.Desc
//	pmGetInDom, pmGetInDomArchive      Metadata.InDom: InDom.At, InDom.All
//	pmLookupText, pmLookupLabels       Metadata.Text, Metadata.Labels
//	pmaGetLog                          File.Records
//	pmaPutLog                          Writer.WriteRecord
//	pmaDeltaInDom                      Writer.UpdateInDom
package archive
