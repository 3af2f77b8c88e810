// Package archive reads and writes the archives of Performance Co-Pilot (PCP), versions 2 and 3: what
// pmlogger(1) and programs like it record.
//
//	set, err := archive.Open(ctx, "/var/log/pcp/pmlogger/web1/20261123")
//	if err != nil {
//		return err // which file, where in it, and a pdu.Error such as pdu.ErrLabel
//	}
//	defer set.Close()
//	id, err := set.Metadata().Names().Lookup("kernel.all.load")
//	load := pdu.NewSelection([]pdu.PMID{id})
//	c := set.Cursor()
//	err = c.SeekNext(from)
//	for err == nil {
//		if err = c.Next(); err == nil {
//			_, err = c.Select(load)
//			v := load.At(0) // valid until the cursor moves
//			…
//		}
//	}
//	if err != pdu.ErrEOL { // the end
//		return err
//	}
//
// # Names and sets
//
// An archive is several files with a common base name: BASE.meta has descriptors, names,
// instance domains, labels and help texts, BASE.0, BASE.1 and so on (the volumes) have
// values, and BASE.index, which may be missing, says which time is where. Each file may be
// compressed. A name is a base name, the name of any of the files, a directory, or several
// of these with commas between. What it stands for is a [Set]: archives in the order of
// time, which are read as one. Between two archives of a set lies a mark, as if
// recorded: it says that there are no values, and no rates, from one to the other.
//
// Options opens archives of an fs.FS, too, such as a zip file or an object store.
//
// # Records
//
// A [Cursor] goes over data records in the order of time, forward and back, and finds a
// time by the index. [Metadata] has everything else, by identifier and time. Programs that
// rewrite or check archives iterate over the records of files as they are: [Set.Records],
// [File.Records].
//
// # Writing
//
// A [Writer] makes an archive, or goes on with one, record by record, so that what is in the
// files is an archive at any time. Programs that have values of their own, such as lines of a log, use
// archive/logimport, which is made of it.
//
// [MoveOptions] moves, copies and removes archives, all files of one or none. [RepairOptions] mends those that have lost the end of a file, their
// index or a label.
//
// # Archives that are being written
//
// A Cursor at the end sees records that are appended later. [Set.Refresh] looks for new
// metadata and volumes.
//
// # Memory and concurrency
//
// A Set, its Archives and its Metadata are safe for concurrent use and shared by any number
// of cursors; a Cursor is for one goroutine at a time. Volumes are read as needed, through a
// window of each cursor. Metadata is in memory. A compressed file is unpacked once for all
// sets of the process, to a temporary file: .gz and .bz2 are read by this package, others
// through the command that PCP uses, such as xz(1).
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
